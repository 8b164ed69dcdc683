import type { GatewayEvidence, Provenance } from '@sotto/attestation';
import { EvidenceError, type EvidenceProducer } from '@sotto/attestation/producers';
import { ServiceError } from '@sotto/wire';
import { type AskingChannel, ChannelQueue } from './channel-queue.ts';
import type { KeySetKeeper } from './key-set-keeper.ts';
import { makeChannelEvidence, makeEvidence } from './make-evidence.ts';
import { BusyError, OneAtATime } from './one-at-a-time.ts';

export interface GatewayAttestationDependencies {
  readonly producer: EvidenceProducer;
  readonly keySets: KeySetKeeper;
  readonly origin: string;
  readonly provenance: Provenance | undefined;
  /** Called with the reason when evidence could not be made. */
  readonly onFailed: (fields: { readonly producer: string; readonly code: string }) => void;
}

/** A quote takes from milliseconds to seconds. With eight requests waiting, the next client is told to retry. */
const limits = { maxWaiting: 8, patienceMs: 20_000 } as const;
const retryAfterS = { busy: 2, failed: 5 } as const;

/**
 * Attests this broker (docs/concepts/attestation.md#hop-1-the-broker): one quote at a time. Each nonce gets a fresh one,
 * and all connections that wait share one.
 */
export class GatewayAttestation {
  readonly #deps: GatewayAttestationDependencies;
  readonly #turns = new OneAtATime(limits);
  readonly #channels: ChannelQueue;
  /** Failures that all connections of a batch share. */
  readonly #told = new WeakSet<object>();

  constructor(deps: GatewayAttestationDependencies) {
    this.#deps = deps;
    this.#channels = new ChannelQueue(this.#turns, (root) => {
      const { producer, keySets, origin, provenance } = deps;
      return makeChannelEvidence(producer, { keySet: keySets.current(), root, origin, provenance });
    });
  }

  /**
   * Returns the evidence for a nonce of 64 lower-case hex digits. Throws `service_unavailable` if too many requests
   * wait or the machine gives none.
   */
  evidenceFor(nonce: string, isWanted?: () => boolean): Promise<GatewayEvidence> {
    return this.#answer((onBegun) =>
      this.#turns.run(() => {
        onBegun();
        return this.#produce(nonce);
      }, isWanted),
    );
  }

  /** Returns the evidence for a nonce on one connection. Throws as `evidenceFor` does. */
  evidenceForChannel(channel: AskingChannel, isWanted: () => boolean = () => true): Promise<GatewayEvidence> {
    return this.#answer((onBegun) => this.#channels.evidenceFor(channel, isWanted, onBegun));
  }

  async #answer(ask: (onBegun: () => void) => Promise<GatewayEvidence>): Promise<GatewayEvidence> {
    const { producer, onFailed } = this.#deps;
    let isBegun = false;
    try {
      return await ask(() => {
        isBegun = true;
      });
    } catch (error) {
      if (error instanceof BusyError) {
        if (isBegun) onFailed({ producer: producer.kind, code: 'slow' });
        throw new ServiceError('service_unavailable', {
          message: 'Attestations are made one at a time, and too many are asked for. Try again shortly.',
          retryAfterS: retryAfterS.busy,
        });
      }
      this.#tell(error);
      throw new ServiceError('service_unavailable', {
        message: 'Evidence cannot be had from the hardware now. Try again shortly.',
        retryAfterS: retryAfterS.failed,
      });
    }
  }

  #tell(error: unknown): void {
    const { producer, onFailed } = this.#deps;
    if (error instanceof Error) {
      if (this.#told.has(error)) return;
      this.#told.add(error);
    }
    onFailed({ producer: producer.kind, code: error instanceof EvidenceError ? error.code : 'unexpected' });
  }

  #produce(nonce: string): Promise<GatewayEvidence> {
    const { producer, keySets, origin, provenance } = this.#deps;
    // Keys may change while the quote is made. The document must show the set that the statement covers.
    return makeEvidence(producer, { audience: 'client', keySet: keySets.current(), nonce, origin, provenance });
  }
}
