import type { GatewayEvidence } from '../gateway/evidence.ts';

/** Something that vouches for a statement: hardware, or what stands in for it in development. */
export interface EvidenceProducer {
  /** Statements for one that simulates have purposes of their own. */
  readonly kind: 'configfs' | 'dstack' | 'simulated';
  /**
   * Evidence that binds the bytes of one statement. Never call it twice at once: a quote occupies the machine, for seconds at
   * times. Rejects with `EvidenceError` where there is none to be had now.
   */
  produce(statement: Uint8Array): Promise<GatewayEvidence['evidence']>;
  /** Renews what evidence carries from the vendors, where that is due. To be called now and then. */
  refresh(): Promise<void>;
}

/** Evidence cannot be had now. `code` is short, of a fixed set or an errno, and fit for logs. */
export class EvidenceError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'EvidenceError';
    this.code = code;
  }
}
