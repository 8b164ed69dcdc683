import type { Spendable } from '@sotto/money';
import type { Caller, Guarded } from '../membership/membership.ts';
import type {
  BookedCharges,
  BudgetProjection,
  JoinReply,
  JoinRequest,
  KeyProjection,
  MintReply,
  MintRequest,
  RateStatus,
  RedeemReply,
  RedeemRequest,
  RemovedBudget,
  RemovedKey,
  ReserveReply,
  ReserveRequest,
  RestoredDeclaration,
  RightToCheck,
  SettleRequest,
  ShardBooks,
  ShardMembers,
  StreamPlace,
  VersionedKey,
  WalletFunds,
  WantedBooks,
  WorkspaceProjection,
} from '../ports/index.ts';
import type { SettlementEntry } from '../records.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { cancel, peek, redeem } from './shard-admission.ts';
import { putBudget, removeBudget } from './shard-budgets.ts';
import { emptyShard, type ShardData, snapshotOf } from './shard-data.ts';
import { dropNote, projectedWallet, readBooks, setFunds, setLimit } from './shard-funds.ts';
import { opens, versionedKey } from './shard-keys.ts';
import { endEpoch, leave, reap, refusalOf, renewLease } from './shard-members.ts';
import { forgetRates } from './shard-rates.ts';
import { admitDeclared, beginEpoch, membersOf } from './shard-rebuild.ts';
import { forgetEnded, keyOrEmpty, putKey, putWorkspace, removeKey } from './shard-records.ts';
import { acknowledge, book, reserve, settle, settlementsAfter } from './shard-settlements.ts';
import { mint } from './shard-tickets.ts';

/** Whether a step needs an open epoch. */
export type StepKind = 'admit' | 'settle' | 'project';

/** The effect of a step on a shard. A step that changes something calls `change`. */
export type Step<T> = (shard: ShardState, caller: Caller, change: () => void) => T;

/**
 * One shard in memory: the same steps as the Lua scripts, written with `packages/money`. Embedded mode runs on it, and tests
 * compare the scripts with it.
 */
export class ShardState {
  readonly #now: () => number;
  #data = emptyShard();
  #sweptAt = 0;

  constructor(now: () => number) {
    this.#now = now;
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
  guarded<T>(kind: StepKind, caller: Caller, step: Step<T>): Guarded<T> {
    forgetEnded(this.#data, this.#now());
    const { epoch, members, isOpen } = this.#data;
    const refused = refusalOf(this.#data, caller);
    if (refused !== undefined || epoch === undefined) return { refused: refused ?? 'not_ready', epoch: epoch ?? 0 };
    const member = members.get(caller.client);
    if (member === undefined) return { refused: 'not_joined', epoch };
    if (kind !== 'project' && !isOpen) return { refused: 'not_open', epoch };
    let changed = 0;
    try {
      const answer = step(this, caller, () => {
        member.steps += 1;
        changed = 1;
      });
      return { count: member.steps, changed, answer };
    } catch (error) {
      if (error instanceof Unleased) return { refused: 'unleased', epoch };
      throw error;
    }
  }

  join(caller: Caller, { declaration, leaseMs }: JoinRequest): Guarded<JoinReply> {
    const { epoch, isOpen, members, declared } = this.#data;
    const refused = refusalOf(this.#data, caller);
    if (refused !== undefined || epoch === undefined) return { refused: refused ?? 'not_ready', epoch: epoch ?? 0 };
    const member = members.get(caller.client);
    if (member === undefined && declaration === 'renewal') return { refused: 'not_joined', epoch };
    if (member === undefined && declaration !== undefined && declaration !== 'renewal') {
      declared.set(caller.client, { client: caller.client, ...declaration });
      return { count: 0, changed: 0, answer: { result: 'declared', isOpen } };
    }
    const { steps, leaseUntil } = renewLease(this.#data, caller.client, this.#now() + leaseMs);
    return { count: steps, changed: 0, answer: { result: 'joined', isOpen, leaseUntil } };
  }

  leave({ client }: Caller): void {
    leave(this.#data, client, this.#now());
  }

  get members(): ShardMembers {
    return membersOf(this.#data);
  }

  beginEpoch(epoch: number): boolean {
    return beginEpoch(this.#data, epoch, this.#now());
  }

  admitDeclared(client: string, declaration: RestoredDeclaration, change: () => void): boolean {
    const isNew = admitDeclared(this.#data, client, declaration, this.#now());
    if (isNew) change();
    return isNew;
  }

  openEpoch(change: () => void): void {
    this.#data.isOpen = true;
    change();
  }

  discardEpoch(epoch: number): boolean {
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

  peek(right: RightToCheck): RateStatus | undefined {
    forgetEnded(this.#data, this.#now());
    if (!this.isOpen) throw new StateUnavailableError('not projected');
    return peek(this.#data, right, this.#now());
  }

  redeem(request: RedeemRequest, { client, leaseUntil }: Caller, change: () => void): RedeemReply {
    const now = this.#now();
    if (leaseUntil <= now) throw new Unleased();
    this.#sweep();
    return redeem(this.#data, request, { client, now, change });
  }

  cancel(holdId: string, change: () => void): void {
    cancel(this.#data, holdId, this.#now(), change);
  }

  settle(request: SettleRequest, change: () => void): StreamPlace | undefined {
    return settle(this.#data, request, this.#now(), change);
  }

  watermark(): StreamPlace {
    return { streamId: this.#data.watermark, epoch: this.#data.epoch ?? 0 };
  }

  putWallet(funds: WalletFunds, change: () => void): void {
    if (setFunds(this.#data, funds)) change();
  }

  /** Returns as `putKey` of the port. Undefined: the state has a newer generation. */
  putKey(projection: KeyProjection, change: () => void): boolean | undefined {
    const isLacking = putKey(this.#data, projection, this.#now());
    setLimit(keyOrEmpty(this.#data, projection.keyHash), projection.limitFundsNusd, projection.fundsVersion);
    change();
    return isLacking;
  }

  removeKey(key: RemovedKey, change: () => void): boolean {
    const isRemoved = removeKey(this.#data, key, this.#now());
    if (isRemoved) change();
    return isRemoved;
  }

  putWorkspace(workspace: WorkspaceProjection, change: () => void): void {
    if (putWorkspace(this.#data, workspace, this.#now())) change();
  }

  putBudget(budget: BudgetProjection, change: () => void): void {
    putBudget(this.#data, budget, this.#now());
    change();
  }

  removeBudget(budget: RemovedBudget, change: () => void): void {
    if (removeBudget(this.#data, budget, this.#now())) change();
  }

  mint(request: MintRequest, change: () => void): MintReply {
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

  holdsOf(client: string): string[] {
    return [...this.#data.holds].flatMap(([holdId, held]) => (held.client === client ? [holdId] : []));
  }

  readBooks(wanted: WantedBooks): ShardBooks {
    return readBooks(this.#data, wanted);
  }

  readNotes(): string[] {
    return [...this.#data.notes.keys()];
  }

  book(charges: BookedCharges, change: () => void): void {
    book(this.#data, charges, this.#now());
    change();
  }

  reserve(request: ReserveRequest, change: () => void): ReserveReply {
    return reserve(this.#data, request, this.#now(), change);
  }

  forget(holdIds: readonly string[], change: () => void): void {
    for (const holdId of holdIds) dropNote(this.#data, holdId, this.#now());
    change();
  }

  acknowledge(streamId: string, change: () => void): void {
    acknowledge(this.#data, streamId, change);
  }

  reap(graceMs: number): number {
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
  }
}

/** Thrown if the caller's lease has ended. The step has no effect. */
class Unleased extends Error {}
