import type { Nusd } from '@sotto/money';
import { signDeclaration } from '../envelopes/declaration.ts';
import type {
  AdmissionPort,
  MembershipPort,
  RedeemReply,
  RedeemRequest,
  SealedDeclaration,
  SettleRequest,
  StreamPlace,
} from '../ports.ts';
import { StateUnavailableError } from '../unavailable.ts';
import type { Caller } from './membership.ts';

/** A redeem, and whose it will be. */
export interface HoldOrder extends RedeemRequest {
  readonly accountRef: string;
}

interface Hold {
  readonly shard: number;
  readonly holdId: string;
  readonly amountNusd: Nusd;
  readonly accountRef: string;
  /** The incarnation and epoch that it was placed or declared in. */
  readonly caller: Caller;
}
interface Doubtful {
  readonly shard: number;
  readonly holdId: string;
  readonly caller: Caller;
}
interface Pending {
  readonly request: SettleRequest;
  /** When it is to be sent again. */
  resendAt: number;
  attempts: number;
}
interface Accepted {
  readonly pending: Pending;
  /** Where it stands in the shard's stream. */
  readonly place: StreamPlace;
}

export interface HoldBookDependencies {
  readonly state: Pick<AdmissionPort, 'redeem' | 'cancel' | 'settle' | 'watermark' | 'readOwnHolds'> & MembershipPort;
  readonly macKey: Buffer;
  /** A clock in ms that never jumps. */
  readonly now: () => number;
  /** While so many settlements are not acknowledged, no redeem is sent: what waits for the ledger is kept in memory. */
  readonly mostPending: number;
  readonly onDelayed: (pending: number) => void;
}

/** An accepted settlement that the ledger does not acknowledge within this time is sent again. */
const acknowledgeMs = 15_000;
const longestAcknowledgeMs = 600_000;
const retryMs = (attempts: number): number => Math.min(100 * 2 ** attempts, 5_000);
/** Of what is sent again so many are under way in a shard at a time: what else is asked of it does not wait for all. */
export const resentAtOnce = 16;

/**
 * A broker's own record of money: holds that are open, redeems whose fate is unknown, and settlements that the ledger
 * has not acknowledged. Each is seen through: a redeem in doubt is cancelled, a settlement sent until it is booked, and
 * when a shard has lost something all of it is declared again. The ledger books each hold once, so sending too often is
 * harmless and sending too seldom is not.
 */
export class HoldBook {
  readonly #deps: HoldBookDependencies;
  /** Redeems that are under way. */
  readonly #asked = new Set<string>();
  readonly #open = new Map<string, Hold>();
  readonly #doubtful = new Map<string, Doubtful>();
  /** Settlements that the state has not accepted yet. */
  readonly #unsent = new Map<string, Pending>();
  /** Those that it has and the ledger has not acknowledged, by shard, as they stand in its stream: accepted last is last. */
  readonly #accepted = new Map<number, Map<string, Accepted>>();
  /** Holds that the state had in our name at the last look, and that we know nothing of. */
  #strays = new Set<string>();

  constructor(deps: HoldBookDependencies) {
    this.#deps = deps;
  }

  /** Holds of requests that are under way. */
  get openHolds(): number {
    return this.#open.size;
  }

  /** Settlements that the ledger has not acknowledged. */
  get size(): number {
    let count = this.#unsent.size;
    for (const accepted of this.#accepted.values()) count += accepted.size;
    return count;
  }

  /** How many settlements the state has not accepted yet. */
  get unsent(): number {
    return this.#unsent.size;
  }

  /**
   * Takes the right and places the hold. Throws `StateUnavailableError` where it may not have been: then it is undone,
   * even if it is carried out later; and where the ledger has left too much lying, before anything is asked.
   */
  async redeem({ accountRef, ...request }: HoldOrder): Promise<RedeemReply> {
    const { state, mostPending } = this.#deps;
    if (this.size >= mostPending) throw new StateUnavailableError('the ledger is too late', { attempted: false });
    const { shard, holdId, amountNusd } = request;
    const caller = state.membership.caller(shard);
    this.#asked.add(holdId);
    try {
      const reply = await state.redeem(request);
      if (reply.result === 'admitted') this.#open.set(holdId, { shard, holdId, amountNusd, accountRef, caller });
      return reply;
    } catch (error) {
      if (error instanceof StateUnavailableError && error.attempted) {
        const doubtful = { shard, holdId, caller };
        this.#doubtful.set(holdId, doubtful);
        this.#undo(doubtful).catch(() => {});
      }
      throw error;
    } finally {
      this.#asked.delete(holdId);
    }
  }

  /** Takes a settlement over; resolves once the state has accepted it, which may be never. */
  settle(request: SettleRequest): Promise<void> {
    const pending: Pending = { request, resendAt: Number.POSITIVE_INFINITY, attempts: 0 };
    this.#unsent.set(request.holdId, pending);
    return this.#send(pending);
  }

  /** Sends again what is due and forgets what is acknowledged. Called every second. */
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
   * Looks for holds in our name that we know nothing of, and cancels those that it finds twice: between the two looks
   * every redeem has come to its end. None should ever be found; one that is would never be released, for our lease
   * goes on. Called every minute for one shard after the other.
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

  /** Sends everything that was not accepted yet, whatever its time; resolves to how many remain. */
  async flush(): Promise<number> {
    await this.#sendAgain([...this.#unsent.values()]);
    return this.unsent;
  }

  /**
   * What is held in a shard, for its new epoch: the holds of this incarnation that no settlement has ended, and the
   * charges that were accepted but may have been lost. Undefined: nothing.
   */
  declarationOf(shard: number): SealedDeclaration | undefined {
    const { state, macKey } = this.#deps;
    const { client, epoch } = state.membership.caller(shard);
    const holds = [...this.#open.values()]
      .filter((hold) => hold.shard === shard && hold.caller.client === client)
      .map(({ holdId, amountNusd, accountRef }) => ({ id: holdId, nusd: amountNusd.toString(), accountRef }));
    const charges = [...(this.#accepted.get(shard)?.values() ?? [])].flatMap(({ pending: { request } }) =>
      request.chargeNusd === 0n || request.entry === undefined ? [] : [request.entry],
    );
    if (holds.length === 0 && charges.length === 0) return undefined;
    return signDeclaration(macKey, { v: 1, client, shard, epoch, holds, charges });
  }

  /** A redeem is carried out in its own epoch and incarnation or never: beyond them nothing is left to undo. */
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
      // Sent again, it stands behind all that was accepted meanwhile.
      accepted.delete(holdId);
      if (place !== undefined) accepted.set(holdId, { pending, place });
      // Ever more seldom: while the ledger is away for long, what waits must not pile up in the stream over and over.
      const waitMs = Math.min(acknowledgeMs * 2 ** (pending.attempts - 1), longestAcknowledgeMs);
      pending.resendAt = this.#deps.now() + waitMs;
    } catch (error) {
      pending.resendAt = this.#deps.now() + retryMs(pending.attempts);
      throw error;
    }
  }

  /**
   * The ledger acknowledges in the order of the stream: within an epoch nothing is looked at behind the first that is not
   * acknowledged. Nothing but `resend` sends again, so that what was there when the mark was asked for is still in front.
   */
  async #forgetAcknowledged(): Promise<void> {
    for (const [shard, accepted] of this.#accepted) {
      // What is accepted while the mark is asked for, the answer does not speak of: a failover may have lost it.
      let asked = accepted.size;
      if (asked === 0) continue;
      const watermark = await this.#deps.state.watermark(shard).catch(() => undefined);
      if (watermark === undefined) continue;
      const isAcknowledged = atOrBelow(watermark.streamId);
      for (const [holdId, { pending, place }] of accepted) {
        if (asked === 0) break;
        asked -= 1;
        if (place.epoch !== watermark.epoch) {
          // The shard has lost something since: a watermark beyond this entry says nothing about it.
          pending.resendAt = this.#deps.now();
        } else if (isAcknowledged(place.streamId)) {
          accepted.delete(holdId);
        } else break;
      }
    }
  }
}

/**
 * Sends what has piled up: shard by shard side by side, in each a few at a time, and no more of a shard that did not take
 * one. Thousands at once would keep every request waiting that comes meanwhile, until it is given up.
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

/** Tells of stream ids, `ms-seq`, whether they are not beyond a mark. */
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
