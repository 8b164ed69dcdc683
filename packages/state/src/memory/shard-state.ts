// Longer than 400 lines, because one class holds a shard: each method is one step, and all steps share its data.

import { availableNusd, hold, type Spendable } from '@sotto/money';
import { closedMs } from '../bounds.ts';
import { monthOf } from '../budgets.ts';
import type { Signed } from '../envelopes/sealing.ts';
import { generationOf, shownGeneration } from '../generation.ts';
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
  RestoredAmount,
  RestoredDeclaration,
  Right,
  RightToCheck,
  SettleRequest,
  ShardBooks,
  ShardMembers,
  StreamPlace,
  VersionedKey,
  WalletFunds,
  WantedBooks,
  WorkspaceProjection,
} from '../ports.ts';
import type { SettlementEntry } from '../records.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { putBudget, refusingBudget, removeBudget, setSpent } from './shard-budgets.ts';
import { type CountedAs, emptyShard, type Mark, type ShardData, snapshotOf } from './shard-data.ts';
import {
  dropNote,
  placeHold,
  placeNote,
  projectedWallet,
  readBooks,
  releaseHold,
  setFunds,
  setLimit,
} from './shard-funds.ts';
import { endEpoch, leave, reap, refusalOf, renewLease } from './shard-members.ts';
import { correctTokens, countRequest, forgetRates, rateStatus, usedRate } from './shard-rates.ts';
import { forgetEnded, keyOrEmpty, putKey, putWorkspace, removeKey, rest } from './shard-records.ts';

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
    const { epoch, isOpen, members, declared } = this.#data;
    const named = (isGone: boolean): string[] =>
      [...members].filter(([, { lapsedAt }]) => (lapsedAt !== undefined) === isGone).map(([client]) => client);
    return {
      epoch,
      isOpen,
      clients: named(false),
      gone: named(true),
      declared: [...declared.values()],
    };
  }

  beginEpoch(epoch: number): boolean {
    const shard = this.#data;
    if (shard.epoch !== undefined) return false;
    const now = this.#now();
    for (const holdId of [...shard.holds.keys()]) releaseHold(shard, holdId, now);
    for (const holdId of [...shard.notes.keys()]) dropNote(shard, holdId, now);
    shard.members.clear();
    shard.declared.clear();
    shard.epoch = epoch;
    shard.isOpen = false;
    return true;
  }

  admitDeclared(client: string, { leaseMs, holds, charges }: RestoredDeclaration, change: () => void): boolean {
    const shard = this.#data;
    shard.declared.delete(client);
    if (shard.members.has(client)) return false;
    // A client of the version without budgets states no month. What it declares counts once it is booked.
    const countedAs = ({ month, budgetIds }: RestoredAmount): CountedAs => ({
      month: month ?? '',
      budgetIds: month === undefined ? [] : budgetIds,
    });
    const now = this.#now();
    for (const amount of holds) {
      const { holdId, walletId, keyHash, amountNusd } = amount;
      if (this.#isClosed(holdId) || shard.holds.has(holdId)) continue;
      const restored = { client, walletId, keyHash, amountNusd, estimatedTokens: 0, window: 0, ticketHash: undefined };
      placeHold(shard, holdId, restored, countedAs(amount), now);
    }
    for (const charge of charges) {
      placeNote(shard, charge.holdId, charge, countedAs(charge), now);
      this.#append(charge.entry);
    }
    renewLease(shard, client, this.#now() + leaseMs);
    change();
    return true;
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
    if (!this.#opens(projection, secretHash)) return undefined;
    return this.#versioned(projection, shard);
  }

  #versioned(projection: KeyProjection, shard: number): VersionedKey | undefined {
    const { walletId, keyHash, record, workspace } = projection;
    const generation = this.#generationOf(projection);
    if (generation === undefined) return undefined;
    const preferences = this.#data.workspaces.get(workspace.workspaceId)?.preferences;
    if (preferences === undefined) throw new StateUnavailableError('not projected');
    const shown = shownGeneration(walletId, keyHash, generation);
    return { record: { ...record, preferences }, generation: shown, shard };
  }

  /** Returns the generation of a key and its workspace's preferences. Undefined if these are unreadable, which permits nothing. */
  #generationOf({ generation, workspace: { workspaceId } }: KeyProjection): string | undefined {
    const { version = -1, isOff = false } = this.#data.workspaces.get(workspaceId) ?? {};
    if (isOff) return undefined;
    if (version < 0) throw new StateUnavailableError('not projected');
    return generationOf(generation, version);
  }

  /** Whether a ticket is still valid: its key is the same, and the preferences have only become looser since. */
  #isValid({ generation, workspace: { workspaceId } }: KeyProjection, ticket: string | undefined): boolean {
    const { version, ticketsSince } = this.#data.workspaces.get(workspaceId) ?? { version: -1, ticketsSince: 0 };
    const [, ofKey, of] = /^(\d+)\.(\d+)$/.exec(ticket ?? '') ?? [];
    return Number(ofKey) === generation && Number(of) >= ticketsSince && Number(of) <= version;
  }

  #hasGeneration(projection: KeyProjection, generation: string): boolean {
    const workspace = this.#data.workspaces.get(projection.workspace.workspaceId);
    return workspace?.isOff === false && generationOf(projection.generation, workspace.version) === generation;
  }

  /** Whether a key has not expired, and has this secret now. A ticket shows no secret. */
  #opens({ expiresAt, secrets, keyHash }: KeyProjection, secretHash: string | undefined): boolean {
    if (expiresAt !== undefined && expiresAt <= this.#now()) return false;
    if (secretHash === undefined) return true;
    if (secrets === undefined || secrets.length === 0) return secretHash === keyHash;
    const shown = secrets.find((secret) => secret.secretHash === secretHash);
    return shown !== undefined && (shown.endsAt === undefined || shown.endsAt > this.#now());
  }

  peek({ right, generation }: RightToCheck): RateStatus | undefined {
    forgetEnded(this.#data, this.#now());
    if (!this.isOpen) throw new StateUnavailableError('not projected');
    const mark = right.kind === 'ticket' ? this.#validMark(right.ticketHash) : undefined;
    const keyHash = right.kind === 'ticket' ? mark?.keyHash : right.keyHash;
    const projection = keyHash === undefined ? undefined : this.#data.keys.get(keyHash)?.projection;
    if (keyHash === undefined || projection === undefined) return undefined;
    if (!this.#opens(projection, secretOf(right))) return undefined;
    const current = this.#generationOf(projection);
    if (current === undefined) return undefined;
    // A changed key needs a new plan. A ticket belongs to the old generation of its key.
    const isStale = mark !== undefined && !this.#isValid(projection, mark.generation ?? generation);
    return isStale ? undefined : rateStatus(this.#data, keyHash, this.#now());
  }

  redeem(request: RedeemRequest, caller: Caller, change: () => void): RedeemReply {
    const { holds, keys, tickets } = this.#data;
    const now = this.#now();
    if (caller.leaseUntil <= now) throw new Unleased();
    this.#sweep();
    const { right, holdId, amountNusd } = request;
    if (this.#isClosed(holdId)) return { result: 'closed' };
    const repeated = holds.get(holdId);
    if (repeated !== undefined) {
      const month = monthOf(repeated.window === 0 ? now : repeated.window * 60_000);
      return { result: 'admitted', month, rate: rateStatus(this.#data, repeated.keyHash, now) };
    }

    const mark = right.kind === 'ticket' ? this.#validMark(right.ticketHash) : undefined;
    if (right.kind === 'ticket' && mark === undefined) return { result: 'invalid_ticket' };
    const keyHash = mark?.keyHash ?? (right.kind === 'key' ? right.keyHash : '');
    const key = keys.get(keyHash);
    const projection = key?.projection;
    const refused: RedeemReply = { result: right.kind === 'ticket' ? 'invalid_ticket' : 'unknown_key' };
    if (key === undefined || projection === undefined || !this.#opens(projection, secretOf(right))) return refused;
    const current = this.#generationOf(projection);
    if (current === undefined) return refused;
    if (right.kind === 'ticket') {
      if (!this.#isValid(projection, mark?.generation ?? request.generation)) return refused;
    } else if (shownGeneration(projection.walletId, keyHash, current) !== request.generation) {
      const newer = this.#versioned(projection, request.shard);
      return newer === undefined ? refused : { result: 'stale_key', key: newer };
    }

    const used = usedRate(this.#data, keyHash, now);
    const rate = rateStatus(this.#data, keyHash, now);
    if (used.requests + 1 > projection.limitRequests) return { result: 'rate_limited', by: 'requests', rate };
    if (used.tokens > 0 && used.tokens + request.estimatedTokens > projection.limitTokens) {
      return { result: 'rate_limited', by: 'tokens', rate };
    }
    const wallet = projectedWallet(this.#data, projection.walletId);
    if (wallet === undefined) throw new StateUnavailableError('not projected');
    const isFree = request.free === true;
    if (!isFree && hold(wallet, amountNusd) === undefined) return { result: 'insufficient', scope: 'wallet', rate };
    if (!isFree && key.limited && availableNusd(key.spend) < amountNusd)
      return { result: 'insufficient', scope: 'key', rate };
    const month = monthOf(now);
    const { budgetIds } = projection;
    const refusing = isFree ? undefined : refusingBudget(this.#data, { month, amountNusd, budgetIds });
    if (refusing !== undefined) {
      // A ticket hides whose it is. A limit in USD could tell, so only the key itself is answered with it.
      const budget = right.kind === 'ticket' ? { ...refusing, limitNusd: undefined } : refusing;
      return { result: 'insufficient', scope: 'budget', budget, rate };
    }

    change();
    if (mark !== undefined && right.kind === 'ticket') tickets.set(right.ticketHash, { ...mark, usedBy: holdId });
    const held = {
      client: caller.client,
      walletId: projection.walletId,
      keyHash,
      amountNusd,
      estimatedTokens: request.estimatedTokens,
      window: used.window,
      ticketHash: right.kind === 'ticket' ? right.ticketHash : undefined,
    };
    placeHold(this.#data, holdId, held, { month, budgetIds }, now);
    countRequest(this.#data, keyHash, request.estimatedTokens, now);
    return { result: 'admitted', month, rate: rateStatus(this.#data, keyHash, now) };
  }

  cancel(holdId: string, change: () => void): void {
    const { tickets, closed } = this.#data;
    if (this.#isClosed(holdId)) return;
    const ticketHash = releaseHold(this.#data, holdId, this.#now())?.ticketHash;
    const mark = ticketHash === undefined ? undefined : this.#mark(ticketHash);
    if (ticketHash !== undefined && mark?.usedBy === holdId) tickets.set(ticketHash, { ...mark, usedBy: undefined });
    closed.set(holdId, this.#now() + closedMs);
    change();
  }

  settle({ holdId, chargeNusd, usedTokens, entry }: SettleRequest, change: () => void): StreamPlace | undefined {
    const shard = this.#data;
    const now = this.#now();
    const ended = releaseHold(shard, holdId, now);
    if (ended !== undefined) {
      placeNote(shard, holdId, { ...ended, amountNusd: chargeNusd }, ended.counted, now);
      correctTokens(shard, ended, usedTokens);
    } else {
      const reaped = shard.reaped.get(holdId);
      shard.reaped.delete(holdId);
      if (reaped !== undefined && reaped.until > now) {
        placeNote(shard, holdId, { ...reaped, amountNusd: chargeNusd }, reaped.counted, now);
      }
    }
    if (!this.#isClosed(holdId)) shard.closed.set(holdId, this.#now() + closedMs);
    change();
    if (entry === undefined || shard.epoch === undefined) return undefined;
    return { streamId: this.#append(entry), epoch: shard.epoch };
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
    const { ticketHashes, walletId, keyHash, secretHash, generation, form, ttlMs, free = false } = request;
    const { keys, tickets, epoch = 0 } = this.#data;
    const wallet = projectedWallet(this.#data, walletId);
    if (wallet === undefined) return { result: 'not_projected' };
    const projection = keys.get(keyHash)?.projection;
    if (projection === undefined || !this.#opens(projection, secretHash)) return { result: 'not_projected' };
    if (!this.#hasGeneration(projection, generation)) return { result: 'not_projected' };
    const available = availableNusd(wallet);
    if (available <= 0n && !free) return { result: 'insufficient', availableNusd: available };
    const asked = { month: monthOf(this.#now()), amountNusd: 1n, budgetIds: projection.budgetIds };
    const refusing = free ? undefined : refusingBudget(this.#data, asked);
    if (refusing !== undefined) return { result: 'over_budget', budget: refusing };
    this.#sweep();
    change();
    const marked = form === 1 ? undefined : generation;
    const expiresAt = this.#now() + ttlMs;
    for (const ticketHash of ticketHashes) {
      if (this.#mark(ticketHash) !== undefined) continue;
      tickets.set(ticketHash, { epoch, keyHash, generation: marked, expiresAt, usedBy: undefined });
    }
    return { result: 'minted' };
  }

  readWallet(walletId: string): Omit<Spendable, 'version'> | undefined {
    const wallet = projectedWallet(this.#data, walletId);
    if (wallet === undefined) return undefined;
    const { fundsNusd, heldNusd, unbookedNusd } = wallet;
    return { fundsNusd, heldNusd, unbookedNusd };
  }

  readSettlements(afterId: string, limit: number): SettlementEntry[] {
    const after = Number.parseInt(afterId, 10);
    return this.#data.stream.filter((entry) => Number.parseInt(entry.streamId, 10) > after).slice(0, limit);
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

  book({ wallet, keys, budgets, holdIds }: BookedCharges, change: () => void): void {
    const now = this.#now();
    for (const holdId of holdIds) dropNote(this.#data, holdId, now);
    setFunds(this.#data, wallet);
    for (const { keyHash, limitFundsNusd, version } of keys) {
      if (setLimit(keyOrEmpty(this.#data, keyHash), limitFundsNusd, version)) rest(this.#data, keyHash, now);
    }
    for (const { budgetId, ...spend } of budgets) setSpent(this.#data, budgetId, spend, now);
    change();
  }

  reserve({ noteId, walletId, amountNusd, balanceNusd, alone }: ReserveRequest, change: () => void): ReserveReply {
    const wallet = projectedWallet(this.#data, walletId);
    if (wallet === undefined) throw new StateUnavailableError('not projected');
    if (alone && wallet.heldNusd + wallet.unbookedNusd > 0n) return { result: 'busy' };
    const fundsNusd = wallet.fundsNusd < balanceNusd ? wallet.fundsNusd : balanceNusd;
    if (availableNusd({ ...wallet, fundsNusd }) < amountNusd) return { result: 'insufficient' };
    change();
    placeNote(this.#data, noteId, { walletId, keyHash: '-', amountNusd }, undefined, this.#now());
    return { result: 'reserved', epoch: this.#data.epoch ?? 0 };
  }

  forget(holdIds: readonly string[], change: () => void): void {
    for (const holdId of holdIds) dropNote(this.#data, holdId, this.#now());
    change();
  }

  acknowledge(streamId: string, change: () => void): void {
    const shard = this.#data;
    const passed = Number.parseInt(streamId, 10);
    if (passed <= Number.parseInt(shard.watermark, 10)) return;
    shard.watermark = streamId;
    shard.stream = shard.stream.filter((entry) => Number.parseInt(entry.streamId, 10) > passed);
    change();
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

  #append({ payload, mac }: Signed): string {
    this.#data.sequence += 1;
    const streamId = `${this.#data.sequence}-0`;
    this.#data.stream.push({ streamId, payload, mac });
    return streamId;
  }

  #mark(ticketHash: string): Mark | undefined {
    const mark = this.#data.tickets.get(ticketHash);
    return mark !== undefined && mark.expiresAt > this.#now() ? mark : undefined;
  }

  /** Returns the mark of a ticket that can be redeemed in this epoch. */
  #validMark(ticketHash: string): Mark | undefined {
    const mark = this.#mark(ticketHash);
    return mark?.usedBy === undefined && mark?.epoch === this.#data.epoch ? mark : undefined;
  }

  #isClosed(holdId: string): boolean {
    return (this.#data.closed.get(holdId) ?? 0) > this.#now();
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

const secretOf = (right: Right): string | undefined =>
  right.kind === 'key' ? (right.secretHash ?? right.keyHash) : undefined;

/** Thrown if the caller's lease has ended. The step has no effect. */
class Unleased extends Error {}
