import type { Nusd } from '@sotto/money';
import { signDeclaration } from '../envelopes/declaration.ts';
import type { Signed } from '../envelopes/sealing.ts';
import type {
  AdmissionPort,
  MembershipPort,
  RedeemReply,
  RedeemRequest,
  SettleRequest,
  StreamPlace,
} from '../ports/index.ts';
import { StateUnavailableError } from '../unavailable.ts';
import type { Caller } from './membership.ts';

/** A redeem and the reference to its owner. */
export interface HoldOrder extends RedeemRequest {
  readonly accountRef: string;
  /** What the request needs, if the state must not learn it: `amountNusd` and `roundedNusd` are then its bounds. */
  readonly neededNusd?: Nusd | undefined;
}

interface Hold {
  readonly shard: number;
  readonly holdId: string;
  readonly amountNusd: Nusd;
  readonly accountRef: string;
  readonly month: string;
  /** The incarnation and epoch in which it was placed or declared. */
  readonly caller: Caller;
}
type Doubtful = Pick<Hold, 'shard' | 'holdId' | 'caller'>;
interface Pending {
  readonly request: SettleRequest;
  /** When to send it again. */
  resendAt: number;
  attempts: number;
}
interface Accepted {
  readonly pending: Pending;
  /** Its place in the shard's stream. */
  readonly place: StreamPlace;
}

export interface HoldBookDependencies {
  readonly state: Pick<AdmissionPort, 'redeem' | 'cancel' | 'settle' | 'sent' | 'watermark' | 'readOwnHolds'> &
    MembershipPort;
  readonly macKey: Buffer;
  /** Monotonic clock in ms. */
  readonly now: () => number;
  /** Unacknowledged settlements at which redeems stop, because unacknowledged settlements stay in memory. */
  readonly mostPending: number;
  readonly onDelayed: (pending: number) => void;
}

/**
 * Time until an accepted but unacknowledged settlement is sent again, in ms. A shard that lost it has a new epoch, in which it is
 * sent at once, so this only guards against the unforeseen. It is long, because each repetition makes a late ledger later: with
 * 15 s, a pause of a minute under load doubled the stream.
 */
const acknowledgeMs = 600_000;
const retryMs = (attempts: number): number => Math.min(100 * 2 ** attempts, 5_000);
/** Most concurrent resends per shard, so that other calls to the shard do not wait for all of them. */
export const resentAtOnce = 16;

/**
 * A broker's own record of money: open holds, redeems with an unknown result, and settlements that the ledger has not
 * acknowledged. It completes each of them: cancels uncertain redeems, resends settlements until they are booked, and declares
 * everything again when a shard has lost data. The ledger books each hold once, so sending too often is harmless and sending too
 * seldom is not.
 */
export class HoldBook {
  readonly #deps: HoldBookDependencies;
  /** Running redeems. */
  readonly #asked = new Set<string>();
  readonly #open = new Map<string, Hold>();
  readonly #doubtful = new Map<string, Doubtful>();
  /** Settlements that the state has not accepted. */
  readonly #unsent = new Map<string, Pending>();
  /** Accepted but unacknowledged settlements by shard, in the order of its stream. */
  readonly #accepted = new Map<number, Map<string, Accepted>>();
  /** Holds of this broker in the state that were unknown here at the last reconciliation. */
  #strays = new Set<string>();

  constructor(deps: HoldBookDependencies) {
    this.#deps = deps;
  }

  /** Number of holds of running requests. */
  get openHolds(): number {
    return this.#open.size;
  }

  /** Number of settlements that the ledger has not acknowledged. */
  get size(): number {
    let count = this.#unsent.size;
    for (const accepted of this.#accepted.values()) count += accepted.size;
    return count;
  }

  /** Number of settlements that the state has not accepted. */
  get unsent(): number {
    return this.#unsent.size;
  }

  /**
   * Uses the right and places the hold. Throws `StateUnavailableError` if the result is unknown; the redeem is then undone, even if
   * it is executed later. It is undone, too, if less was held than the request needs. Also throws, before any call, if too many
   * settlements are unacknowledged.
   */
  async redeem({ accountRef, neededNusd = 0n, ...request }: HoldOrder): Promise<RedeemReply> {
    const { state, mostPending } = this.#deps;
    if (this.size >= mostPending) throw new StateUnavailableError('the ledger is too late', { attempted: false });
    const { shard, holdId, amountNusd } = request;
    const caller = state.membership.caller(shard);
    const undo = (): Promise<void> => {
      const doubtful = { shard, holdId, caller };
      this.#doubtful.set(holdId, doubtful);
      return this.#undo(doubtful).catch(() => {});
    };
    this.#asked.add(holdId);
    try {
      const reply = await state.redeem(request);
      if (reply.result !== 'admitted') return reply;
      const { month, rate, heldNusd = amountNusd } = reply;
      if (heldNusd < neededNusd) {
        // Its ticket is valid again before the caller is told.
        await undo();
        return { result: 'insufficient', scope: 'wallet', rate };
      }
      this.#open.set(holdId, { shard, holdId, amountNusd: heldNusd, accountRef, month, caller });
      return reply;
    } catch (error) {
      if (error instanceof StateUnavailableError && error.attempted) void undo();
      throw error;
    } finally {
      this.#asked.delete(holdId);
    }
  }

  /**
   * Takes over a settlement. Resolves once the end of this process cannot lose it: the kernel has it on its way to the state, or the
   * state has accepted it. That may be never. Until the ledger acknowledges it, this book sends it again when the state loses it.
   */
  async handOver(request: SettleRequest): Promise<void> {
    const accepted = this.settle(request);
    accepted.catch(() => {});
    await (this.#deps.state.sent?.().catch(() => accepted) ?? accepted);
  }

  /** Takes over a settlement. Resolves once the state has accepted it, which may be never. */
  settle(request: SettleRequest): Promise<void> {
    const pending: Pending = { request, resendAt: Number.POSITIVE_INFINITY, attempts: 0 };
    this.#unsent.set(request.holdId, pending);
    return this.#send(pending);
  }

  /** Resends due settlements and forgets acknowledged ones. Called every second. */
  async resend(): Promise<void> {
    await inTurns([...this.#doubtful.values()], (doubtful) => this.#undo(doubtful));
    await this.#forgetAcknowledged();
    const now = this.#deps.now();
    const due: Pending[] = [];
    for (const pending of this.#unsent.values()) if (pending.resendAt <= now) due.push(pending);
    for (const accepted of this.#accepted.values()) {
      for (const { pending } of accepted.values()) if (pending.resendAt <= now) due.push(pending);
    }
    if (due.length > 0) this.#deps.onDelayed(due.length);
    await this.#sendAgain(due);
  }

  /**
   * Finds holds of this broker that are unknown here, and cancels those that it finds twice in a row, because every redeem has
   * ended in between. There should never be any. Such a hold would never be released, because the broker's lease goes on. Called
   * every minute, for one shard after the other.
   */
  async reconcile(shard: number): Promise<number> {
    const { state } = this.#deps;
    const strays = (await state.readOwnHolds(shard)).filter(
      (id) => !this.#open.has(id) && !this.#doubtful.has(id) && !this.#asked.has(id),
    );
    const again = strays.filter((id) => this.#strays.has(`${shard} ${id}`));
    this.#strays = new Set([
      ...[...this.#strays].filter((stray) => !stray.startsWith(`${shard} `)),
      ...strays.map((id) => `${shard} ${id}`),
    ]);
    for (const holdId of again) await state.cancel(shard, holdId);
    return again.length;
  }

  /** Sends every unaccepted settlement at once. Resolves to the number that remains. */
  async flush(): Promise<number> {
    await this.#sendAgain([...this.#unsent.values()]);
    return this.unsent;
  }

  /**
   * The declaration for a shard's new epoch: the open holds of this incarnation, and the accepted charges that may be lost.
   * Undefined if there is nothing to declare.
   */
  declarationOf(shard: number): Signed | undefined {
    const { state, macKey } = this.#deps;
    const { client, epoch } = state.membership.caller(shard);
    const holds = [...this.#open.values()]
      .filter((hold) => hold.shard === shard && hold.caller.client === client)
      .map(({ holdId, amountNusd, accountRef, month }) => ({
        id: holdId,
        nusd: amountNusd.toString(),
        accountRef,
        month,
      }));
    const charges = [...(this.#accepted.get(shard)?.values() ?? [])].flatMap(({ pending: { request } }) =>
      request.chargeNusd === 0n || request.entry === undefined ? [] : [request.entry],
    );
    if (holds.length === 0 && charges.length === 0) return undefined;
    return signDeclaration(macKey, { v: 1, client, shard, epoch, holds, charges });
  }

  /** A redeem is executed in its own epoch and incarnation or never. After these, nothing needs undoing. */
  async #undo({ shard, holdId, caller }: Doubtful): Promise<void> {
    const { state } = this.#deps;
    if (!state.membership.isCurrent(shard, caller)) {
      this.#doubtful.delete(holdId);
      return;
    }
    await state.cancel(shard, holdId);
    this.#doubtful.delete(holdId);
  }

  #sendAgain(some: readonly Pending[]): Promise<void> {
    return inTurns(
      some.map((pending) => ({ shard: pending.request.shard, pending })),
      ({ pending }) => this.#send(pending),
    );
  }

  async #send(pending: Pending): Promise<void> {
    const { shard, holdId } = pending.request;
    pending.attempts += 1;
    try {
      const place = await this.#deps.state.settle(pending.request);
      this.#open.delete(holdId);
      this.#unsent.delete(holdId);
      const accepted = this.#accepted.get(shard) ?? new Map<string, Accepted>();
      this.#accepted.set(shard, accepted);
      // After a resend, its place is behind everything that was accepted meanwhile.
      accepted.delete(holdId);
      if (place !== undefined) accepted.set(holdId, { pending, place });
      pending.resendAt = this.#deps.now() + acknowledgeMs;
    } catch (error) {
      pending.resendAt = this.#deps.now() + retryMs(pending.attempts);
      throw error;
    }
  }

  /**
   * The ledger acknowledges in the order of the stream, so each epoch is scanned only up to its first unacknowledged entry. Only
   * `resend` sends again, so entries from before the query of the mark are still in front.
   */
  async #forgetAcknowledged(): Promise<void> {
    for (const [shard, accepted] of this.#accepted) {
      // The mark does not cover entries that are accepted during its query, because a failover may have lost them.
      let asked = accepted.size;
      if (asked === 0) continue;
      const watermark = await this.#deps.state.watermark(shard).catch(() => undefined);
      if (watermark === undefined) continue;
      const isAcknowledged = atOrBelow(watermark.streamId);
      for (const [holdId, { pending, place }] of accepted) {
        if (asked === 0) break;
        asked -= 1;
        if (place.epoch !== watermark.epoch) {
          // The shard has lost data since, so a watermark beyond this entry does not cover it.
          pending.resendAt = this.#deps.now();
        } else if (isAcknowledged(place.streamId)) {
          accepted.delete(holdId);
        } else break;
      }
    }
  }
}

/**
 * Sends a backlog: all shards in parallel, a few entries at a time in each, and no more to a shard after a failure. Thousands at
 * once would delay new requests until they time out.
 */
async function inTurns<T extends { readonly shard: number }>(
  some: readonly T[],
  send: (one: T) => Promise<void>,
): Promise<void> {
  const byShard = Map.groupBy(some, ({ shard }) => shard);
  const sendAll = async (ofShard: readonly T[]): Promise<void> => {
    for (let from = 0; from < ofShard.length; from += resentAtOnce) {
      const sent = await Promise.allSettled(ofShard.slice(from, from + resentAtOnce).map(send));
      if (sent.some(({ status }) => status === 'rejected')) return;
    }
  };
  await Promise.all([...byShard.values()].map(sendAll));
}

/** Returns a test whether a stream id, `ms-seq`, is at or below a mark. */
function atOrBelow(mark: string): (id: string) => boolean {
  const [markMs, markSeq] = readStreamId(mark);
  return (id) => {
    const [ms, seq] = readStreamId(id);
    return ms < markMs || (ms === markMs && seq <= markSeq);
  };
}

function readStreamId(id: string): [ms: number, seq: number] {
  const dash = id.indexOf('-');
  return [Number(id.slice(0, dash)), Number(id.slice(dash + 1))];
}
