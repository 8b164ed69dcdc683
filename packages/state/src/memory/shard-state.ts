import type { Spendable } from '@sotto/money';
import type { Caller, Guarded, Refusal } from '../membership/membership.ts';
import type {
  JoinReply,
  MintReply,
  RateStatus,
  RedeemReply,
  RefusalCounts,
  ReserveReply,
  ShardBooks,
  ShardMembers,
  StreamPlace,
  VersionedKey,
} from '../ports/index.ts';
import type { SettlementEntry } from '../records.ts';
import type { Answer, Asked, StepName, Steps } from '../steps/step.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { cancel, countRefused, peek, redeem } from './shard-admission.ts';
import { putBudget, removeBudget } from './shard-budgets.ts';
import { emptyShard, type ShardData, snapshotOf } from './shard-data.ts';
import { dropNote, projectedWallet, readBooks, setFunds, setLimit } from './shard-funds.ts';
import { opens, versionedKey } from './shard-keys.ts';
import { endEpoch, leave, reap, refusalOf, renewLease } from './shard-members.ts';
import { forgetRates } from './shard-rates.ts';
import { admitDeclared, beginEpoch, membersOf } from './shard-rebuild.ts';
import { forgetEnded, keyOrEmpty, putKey, putWorkspace, removeKey } from './shard-records.ts';
import { forgetRefusals, readRefusals } from './shard-refusals.ts';
import { acknowledge, book, reserve, settle, settlementsAfter } from './shard-settlements.ts';
import { mint } from './shard-tickets.ts';

/** Who takes a step. A step that changes something calls `change`. */
interface Taker {
  readonly caller: Caller;
  readonly change: () => void;
}

/** The effects of the steps on a shard, as the scripts have them. */
export type ShardSteps = { readonly [N in StepName]: (asked: Asked<N>, by: Taker) => Answer<N> };

/**
 * One shard in memory: the same steps as the Lua scripts, written with `packages/money`. Embedded mode runs on it, and tests
 * compare the scripts with it.
 */
export class ShardState implements ShardSteps {
  readonly #now: () => number;
  readonly #announce: () => void;
  #data = emptyShard();
  #sweptAt = 0;

  /** `announce` is called when a process joins or declares its holds. */
  constructor(now: () => number, announce: () => void) {
    this.#now = now;
    this.#announce = announce;
  }

  /** The data of the shard, read-only. */
  get contents(): Readonly<ShardData> {
    return this.#data;
  }

  /** Returns a replica of the present data. */
  copy(): ShardData {
    return structuredClone(this.#data);
  }

  /** Continues with the data of a replica, which may be empty. */
  failOver(replica: ShardData): void {
    this.#data = structuredClone(replica);
  }

  get isOpen(): boolean {
    return this.#data.epoch !== undefined && this.#data.isOpen;
  }

  /** Executes a step unless the caller is refused: see `membership/membership.ts`. */
  guarded<T>(kind: Steps[StepName]['kind'], caller: Caller, step: (change: () => void) => T): Guarded<T> {
    forgetEnded(this.#data, this.#now());
    const { epoch, members, isOpen } = this.#data;
    const refused = refusalOf(this.#data, caller);
    if (refused !== undefined || epoch === undefined) return { refused: refused ?? 'not_ready', epoch: epoch ?? 0 };
    const member = members.get(caller.client);
    if (kind !== 'join' && member === undefined) return { refused: 'not_joined', epoch };
    if (kind !== 'join' && kind !== 'project' && !isOpen) return { refused: 'not_open', epoch };
    let changed = 0;
    try {
      const answer = step(() => {
        if (member !== undefined) member.steps += 1;
        changed = 1;
      });
      return { count: member?.steps ?? 0, changed, answer };
    } catch (error) {
      if (error instanceof Refused) return { refused: error.refused, epoch };
      throw error;
    }
  }

  join([, { declaration, leaseMs }]: Asked<'join'>, { caller: { client } }: Taker): JoinReply {
    const { isOpen, members, declared } = this.#data;
    if (!members.has(client)) {
      if (declaration === 'renewal') throw new Refused('not_joined');
      if (declaration !== undefined) {
        if (!declared.has(client)) this.#announce();
        declared.set(client, { client, ...declaration });
        return { result: 'declared', isOpen };
      }
      this.#announce();
    }
    const { leaseUntil } = renewLease(this.#data, client, this.#now() + leaseMs);
    return { result: 'joined', isOpen, leaseUntil };
  }

  leave(_: Asked<'leave'>, { caller: { client } }: Taker): void {
    leave(this.#data, client, this.#now());
  }

  readMembers(): ShardMembers {
    return membersOf(this.#data);
  }

  beginEpoch([, epoch]: Asked<'beginEpoch'>): boolean {
    return beginEpoch(this.#data, epoch, this.#now());
  }

  admitDeclared([, client, declaration]: Asked<'admitDeclared'>, { change }: Taker): boolean {
    const isNew = admitDeclared(this.#data, client, declaration, this.#now());
    if (isNew) change();
    return isNew;
  }

  openEpoch(_: Asked<'openEpoch'>, { change }: Taker): void {
    this.#data.isOpen = true;
    change();
  }

  discardEpoch([, epoch]: Asked<'discardEpoch'>): boolean {
    if (this.#data.epoch !== epoch) return false;
    endEpoch(this.#data);
    return true;
  }

  /** Returns a key's record if this secret opens it now. An open shard has the records of all keys that requests may use. */
  lookup(shard: number, keyHash: string, secretHash: string): VersionedKey | undefined {
    forgetEnded(this.#data, this.#now());
    const projection = this.#data.keys.get(keyHash)?.projection;
    if (projection === undefined) {
      if (!this.isOpen) throw new StateUnavailableError('not projected');
      return undefined;
    }
    return opens(projection, secretHash, this.#now()) ? versionedKey(this.#data, projection, shard) : undefined;
  }

  peek([right]: Asked<'peek'>): RateStatus | undefined {
    forgetEnded(this.#data, this.#now());
    if (!this.isOpen) throw new StateUnavailableError('not projected');
    return peek(this.#data, right, this.#now());
  }

  redeem([request]: Asked<'redeem'>, { caller: { client, leaseUntil }, change }: Taker): RedeemReply {
    const now = this.#now();
    if (leaseUntil <= now) throw new Refused('unleased');
    this.#sweep();
    return redeem(this.#data, request, { client, now, change });
  }

  countRefusal([refused]: Asked<'countRefusal'>): void {
    countRefused(this.#data, refused, this.#now());
  }

  cancel([, holdId]: Asked<'cancel'>, { change }: Taker): void {
    cancel(this.#data, holdId, this.#now(), change);
  }

  settle([request]: Asked<'settle'>, { change }: Taker): StreamPlace | undefined {
    return settle(this.#data, request, this.#now(), change);
  }

  watermark(): StreamPlace {
    return { streamId: this.#data.watermark, epoch: this.#data.epoch ?? 0 };
  }

  putWallet([funds]: Asked<'putWallet'>, { change }: Taker): void {
    if (setFunds(this.#data, funds)) change();
  }

  putKey([projection]: Asked<'putKey'>, { change }: Taker): Answer<'putKey'> {
    const before = this.#data.keys.get(projection.keyHash)?.projection?.secrets ?? [];
    const isLacking = putKey(this.#data, projection, this.#now());
    setLimit(keyOrEmpty(this.#data, projection.keyHash), projection.limitFundsNusd, projection.fundsVersion);
    change();
    return { isLacking, before: before.map(({ secretHash }) => secretHash) };
  }

  removeKey([key]: Asked<'removeKey'>, { change }: Taker): boolean {
    const isRemoved = removeKey(this.#data, key, this.#now());
    if (isRemoved) change();
    return isRemoved;
  }

  putWorkspace([workspace]: Asked<'putWorkspace'>, { change }: Taker): void {
    if (putWorkspace(this.#data, workspace, this.#now())) change();
  }

  putBudget([budget]: Asked<'putBudget'>, { change }: Taker): void {
    putBudget(this.#data, budget, this.#now());
    change();
  }

  removeBudget([budget]: Asked<'removeBudget'>, { change }: Taker): void {
    if (removeBudget(this.#data, budget, this.#now())) change();
  }

  mint([request]: Asked<'mint'>, { change }: Taker): MintReply {
    this.#sweep();
    return mint(this.#data, request, this.#now(), change);
  }

  readWallet(walletId: string): Omit<Spendable, 'version'> | undefined {
    const wallet = projectedWallet(this.#data, walletId);
    if (wallet === undefined) return undefined;
    const { fundsNusd, heldNusd, unbookedNusd } = wallet;
    return { fundsNusd, heldNusd, unbookedNusd };
  }

  readSettlements(afterId: string, limit: number): SettlementEntry[] {
    return settlementsAfter(this.#data, afterId, limit);
  }

  takeSettlements([, afterId, limit]: Asked<'takeSettlements'>, { caller, change }: Taker): Answer<'takeSettlements'> {
    const entries = this.readSettlements(afterId, limit);
    if (entries.length > 0) change();
    return { entries, reader: caller };
  }

  readOwnHolds(_: Asked<'readOwnHolds'>, { caller: { client } }: Taker): string[] {
    return [...this.#data.holds].flatMap(([holdId, held]) => (held.client === client ? [holdId] : []));
  }

  readBooks([, wanted]: Asked<'readBooks'>): ShardBooks {
    return readBooks(this.#data, wanted);
  }

  readRefusals([, fromHour]: Asked<'readRefusals'>): RefusalCounts {
    return readRefusals(this.#data, fromHour, this.#now());
  }

  readNotes(): string[] {
    return [...this.#data.notes.keys()];
  }

  book([charges]: Asked<'book'>, { change }: Taker): void {
    book(this.#data, charges, this.#now());
    change();
  }

  reserve([request]: Asked<'reserve'>, { change }: Taker): ReserveReply {
    return reserve(this.#data, request, this.#now(), change);
  }

  forget([, holdIds]: Asked<'forget'>, { change }: Taker): void {
    for (const holdId of holdIds) dropNote(this.#data, holdId, this.#now());
    change();
  }

  acknowledge([, streamId]: Asked<'acknowledge'>, { change }: Taker): void {
    acknowledge(this.#data, streamId, change);
  }

  reap([, graceMs]: Asked<'reap'>): number {
    return reap(this.#data, graceMs, this.#now());
  }

  /** All relevant data in a comparable form, for tests. */
  snapshot(): object {
    this.#sweep(true);
    forgetEnded(this.#data, this.#now());
    return snapshotOf(this.#data);
  }

  /** Removes expired data, at most once a second, so that it does not slow requests. */
  #sweep(now = false): void {
    const at = this.#now();
    if (!now && at - this.#sweptAt < 1000) return;
    this.#sweptAt = at;
    const { tickets, closed, reaped } = this.#data;
    for (const [hash, mark] of tickets) if (mark.expiresAt <= at) tickets.delete(hash);
    for (const [id, until] of closed) if (until <= at) closed.delete(id);
    for (const [id, { until }] of reaped) if (until <= at) reaped.delete(id);
    forgetRates(this.#data, at);
    forgetRefusals(this.#data, at);
  }
}

/** Thrown by a step that has no effect. */
class Refused extends Error {
  readonly refused: Refusal;

  constructor(refused: Refusal) {
    super(refused);
    this.refused = refused;
  }
}
