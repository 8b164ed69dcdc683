import { channelLeaf, channelTree, type GatewayEvidence, mostLeaves } from '@sotto/attestation';
import { networkOf } from '@sotto/server';
import { BusyError, type OneAtATime } from './one-at-a-time.ts';

/** The connections of one network that may wait: a quarter, so that no network can keep all others out. */
const mostOfOneNetwork = mostLeaves / 4;

/** A connection whose client asks for evidence about it. */
export interface AskingChannel {
  /** The IP address of the client. */
  readonly address: string;
  /** The client's nonce: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The value that this end exported from the connection: 32 bytes. */
  readonly exporter: Uint8Array;
}

interface Waiting {
  readonly network: string;
  readonly leaf: ReturnType<typeof channelLeaf>;
  readonly isWanted: () => boolean;
  readonly onBegun: () => void;
  readonly answer: PromiseWithResolvers<GatewayEvidence>;
}

/**
 * Makes evidence for connections. One quote covers the root of a tree with all that wait, so the number of clients does
 * not slow the machine. The batch runs before the tasks that wait.
 */
export class ChannelQueue {
  readonly #turns: OneAtATime;
  readonly #quote: (root: string) => Promise<GatewayEvidence>;
  readonly #waiting = new Set<Waiting>();
  #isDue = false;

  /** @param quote - makes evidence for the root of a tree, as 64 hex digits. */
  constructor(turns: OneAtATime, quote: (root: string) => Promise<GatewayEvidence>) {
    this.#turns = turns;
    this.#quote = quote;
  }

  /**
   * Returns the evidence for one connection. Rejects with `BusyError`, or as the quote does. `onBegun` is called for one
   * connection of each batch.
   */
  async evidenceFor({ address, nonce, exporter }: AskingChannel, isWanted: () => boolean, onBegun: () => void) {
    const network = networkOf(address);
    if (!this.#hasPlaceFor(network)) this.#dropUnwanted();
    if (!this.#hasPlaceFor(network)) throw new BusyError();
    const answer = Promise.withResolvers<GatewayEvidence>();
    const waiting: Waiting = { network, leaf: channelLeaf(nonce, exporter), isWanted, onBegun, answer };
    this.#waiting.add(waiting);
    if (!this.#isDue) {
      this.#isDue = true;
      void this.#turns.runBatch(() => this.#serve());
    }
    return this.#turns.patiently(answer.promise, () => this.#waiting.delete(waiting));
  }

  #hasPlaceFor(network: string): boolean {
    if (this.#waiting.size < mostOfOneNetwork) return true;
    const own = [...this.#waiting].filter((waiting) => waiting.network === network);
    return this.#waiting.size < mostLeaves && own.length < mostOfOneNetwork;
  }

  #dropUnwanted(): void {
    for (const waiting of this.#waiting) {
      if (waiting.isWanted()) continue;
      this.#waiting.delete(waiting);
      waiting.answer.reject(new BusyError());
    }
  }

  async #serve(): Promise<void> {
    // A client that asks from now on waits for the next quote.
    this.#isDue = false;
    this.#dropUnwanted();
    const served = [...this.#waiting];
    this.#waiting.clear();
    const [first] = served;
    if (first === undefined) return;
    first.onBegun();
    try {
      const tree = channelTree(served.map(({ leaf }) => leaf));
      const document = await this.#quote(tree.root);
      for (const [at, { answer }] of served.entries()) answer.resolve({ ...document, channel: tree.proofOf(at) });
    } catch (error) {
      for (const { answer } of served) answer.reject(error);
    }
  }
}
