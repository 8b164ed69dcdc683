import type { GatewayEvidence, Provenance } from '@sotto/attestation';
import { EvidenceError, type EvidenceProducer } from '@sotto/attestation/producers';
import { ServiceError } from '@sotto/wire';
import type { KeySetKeeper } from './key-set-keeper.ts';
import { makeEvidence } from './make-evidence.ts';

/** Thrown when too many tasks wait already, or when this one has waited too long. */
export class BusyError extends Error {}

interface QueueLimits {
  /** How many tasks may wait behind the running one. */
  readonly maxWaiting: number;
  /** How long a caller waits, its task's run included, in ms. */
  readonly patienceMs: number;
}

/**
 * Runs tasks one after the other. A caller that has waited too long is told so. Its task, once begun, still finishes
 * before the next one begins.
 */
export class OneAtATime {
  readonly #limits: QueueLimits;
  #last: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Rejects with `BusyError`, or as the task does. A task that is unwanted by its turn does not begin. */
  async run<T>(task: () => Promise<T>, isWanted: () => boolean = () => true): Promise<T> {
    if (this.#unfinished > this.#limits.maxWaiting) throw new BusyError();
    this.#unfinished += 1;
    let impatient = false;
    const turn = this.#last.then(() => {
      if (impatient || !isWanted()) throw new BusyError();
      return task();
    });
    this.#last = turn
      .catch(() => {})
      .then(() => {
        this.#unfinished -= 1;
      });
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        impatient = true;
        reject(new BusyError());
      }, this.#limits.patienceMs);
    });
    try {
      return await Promise.race([turn, patience]);
    } finally {
      clearTimeout(timer);
    }
  }
}

export interface GatewayAttestationDependencies {
  readonly producer: EvidenceProducer;
  readonly keySets: KeySetKeeper;
  readonly origin: string;
  readonly provenance: Provenance | undefined;
  /** Called with the reason when evidence could not be made. */
  readonly onFailed: (fields: { readonly producer: string; readonly code: string }) => void;
}

/** A quote takes from milliseconds to seconds. With eight requests waiting, the next client is told to retry. */
const limits: QueueLimits = { maxWaiting: 8, patienceMs: 20_000 };
const retryAfterS = { busy: 2, failed: 5 } as const;

/**
 * Attests this broker (docs/concepts/attestation.md#hop-1-the-broker): one quote at a time, and a fresh one for every
 * nonce.
 */
export class GatewayAttestation {
  readonly #deps: GatewayAttestationDependencies;
  readonly #queue = new OneAtATime(limits);

  constructor(deps: GatewayAttestationDependencies) {
    this.#deps = deps;
  }

  /**
   * Returns the evidence for a nonce of 64 lower-case hex digits. Throws `service_unavailable` if too many requests
   * wait or the machine gives none.
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
    // Keys may change while the quote is made. The document must show the set that the statement covers.
    return makeEvidence(producer, { audience: 'client', keySet: keySets.current(), nonce, origin, provenance });
  }
}
