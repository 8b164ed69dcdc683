import { channelLeaf, channelTree, type GatewayEvidence, mostLeaves } from '@sotto/attestation';
import { BusyError, type OneAtATime } from './one-at-a-time.ts';

/** A connection whose client asks for evidence about it. */
export interface AskingChannel {
  /** The client's nonce: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The value that this end exported from the connection: 32 bytes. */
  readonly exporter: Uint8Array;
}

interface Waiting {
  readonly leaf: ReturnType<typeof channelLeaf>;
  readonly isWanted: () => boolean;
  readonly onBegun: () => void;
  readonly answer: PromiseWithResolvers<GatewayEvidence>;
}

/**
 * Makes evidence for connections. One quote covers the root of a tree with all that wait, so the number of clients does
 * not slow the machine. The batch has one place among the tasks, whatever else waits.
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
  async evidenceFor({ nonce, exporter }: AskingChannel, isWanted: () => boolean, onBegun: () => void) {
    if (this.#waiting.size >= mostLeaves) throw new BusyError();
    const answer = Promise.withResolvers<GatewayEvidence>();
    const waiting: Waiting = { leaf: channelLeaf(nonce, exporter), isWanted, onBegun, answer };
    this.#waiting.add(waiting);
    if (!this.#isDue) {
      this.#isDue = true;
      void this.#turns.inTurn(() => this.#serve());
    }
    return this.#turns.patiently(answer.promise, () => this.#waiting.delete(waiting));
  }

  async #serve(): Promise<void> {
    // A client that asks from now on waits for the next quote.
    this.#isDue = false;
    const all = [...this.#waiting];
    this.#waiting.clear();
    const served = all.filter(({ isWanted }) => isWanted());
    for (const { answer, isWanted } of all) if (!isWanted()) answer.reject(new BusyError());
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
