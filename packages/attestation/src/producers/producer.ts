import type { GatewayEvidence } from '../gateway/evidence.ts';

/** A source of evidence for statements: hardware, or its simulation in development. */
export interface EvidenceProducer {
  /** Statements for simulated evidence have their own purposes. */
  readonly kind: 'configfs' | 'dstack' | 'simulated';
  /**
   * Returns evidence that binds the bytes of one statement. Do not call it concurrently: a quote can occupy the machine
   * for seconds. Rejects with `EvidenceError` if evidence is unavailable.
   */
  produce(statement: Uint8Array): Promise<GatewayEvidence['evidence']>;
  /** Renews the vendors' documents in the evidence if they are due. Call it regularly. */
  refresh(): Promise<void>;
}

/** Thrown when evidence is unavailable. `code` is short, from a fixed set or an errno, and safe for logs. */
export class EvidenceError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'EvidenceError';
    this.code = code;
  }
}
