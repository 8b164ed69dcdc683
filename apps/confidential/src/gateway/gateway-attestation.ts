import type { GatewayEvidence, Provenance } from '@sotto/attestation';
import { EvidenceError, type EvidenceProducer } from '@sotto/attestation/producers';
import { ServiceError } from '@sotto/wire';
import type { KeySetKeeper } from './key-set-keeper.ts';
import { makeEvidence } from './make-evidence.ts';
import { BusyError, OneAtATime, type QueueLimits } from './one-at-a-time.ts';

export interface GatewayAttestationDependencies {
  readonly producer: EvidenceProducer;
  readonly keySets: KeySetKeeper;
  readonly origin: string;
  readonly provenance: Provenance | undefined;
  /** Told why evidence was not to be had. */
  readonly onFailed: (fields: { readonly producer: string; readonly code: string }) => void;
}

/** A quote takes from milliseconds to seconds; whoever comes when eight wait is better told to come again. */
const limits: QueueLimits = { maxWaiting: 8, patienceMs: 20_000 };
const retryAfterS = { busy: 2, failed: 5 } as const;

/** Attests this broker (interface 4.2, hop 1): one quote at a time, a fresh one for every nonce. */
export class GatewayAttestation {
  readonly #deps: GatewayAttestationDependencies;
  readonly #queue = new OneAtATime(limits);

  constructor(deps: GatewayAttestationDependencies) {
    this.#deps = deps;
  }

  /**
   * The evidence for a nonce of 64 lower-case hex digits. Throws `service_unavailable` where too many ask, or the machine gives
   * none.
   */
  async evidenceFor(nonce: string, isWanted?: () => boolean): Promise<GatewayEvidence> {
    const { producer, onFailed } = this.#deps;
    let isBegun = false;
    const produce = (): Promise<GatewayEvidence> => {
      isBegun = true;
      return this.#produce(nonce);
    };
    try {
      return await this.#queue.run(produce, isWanted);
    } catch (error) {
      if (error instanceof BusyError) {
        if (isBegun) onFailed({ producer: producer.kind, code: 'slow' });
        throw new ServiceError('service_unavailable', {
          message: 'Attestations are made one at a time, and too many are asked for. Try again shortly.',
          retryAfterS: retryAfterS.busy,
        });
      }
      onFailed({ producer: producer.kind, code: error instanceof EvidenceError ? error.code : 'unexpected' });
      throw new ServiceError('service_unavailable', {
        message: 'Evidence cannot be had from the hardware now. Try again shortly.',
        retryAfterS: retryAfterS.failed,
      });
    }
  }

  #produce(nonce: string): Promise<GatewayEvidence> {
    const { producer, keySets, origin, provenance } = this.#deps;
    // Keys may change while the quote is made: the document shows the set that the statement is over.
    return makeEvidence(producer, { audience: 'client', keySet: keySets.current(), nonce, origin, provenance });
  }
}
