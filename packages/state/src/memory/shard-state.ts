import { availableNusd, booked, hold, type Nusd, type Spendable, settle, withFunds } from '@sotto/money';
import { boundedTokens } from '../bounds.ts';
import type { Caller, Guarded, Refusal } from '../membership/membership.ts';
import type {
  AuditedFunds,
  BookedCharges,
  Declared,
  JoinReply,
  JoinRequest,
  KeyProjection,
  MintReply,
  MintRequest,
  RateStatus,
  RedeemReply,
  RedeemRequest,
  RestoredAmount,
  RestoredCharge,
  SettleRequest,
  ShardBooks,
  ShardMembers,
  StreamPlace,
  WalletFunds,
} from '../ports.ts';
import type { SettlementEntry } from '../records.ts';
import { StateUnavailableError } from '../unavailable.ts';

interface StoredKey {
  /** Undefined where the ledger spoke of the key before its record came. */
  projection: KeyProjection | undefined;
  spend: Spendable;
  limited: boolean;
}
interface Hold {
  readonly client: string;
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: Nusd;
  readonly estimatedTokens: number;
  readonly window: number;
  readonly ticketHash: string | undefined;
}
interface Mark {
  readonly epoch: number;
  readonly walletId: string;
  readonly keyHash: string;
  readonly expiresAt: number;
  readonly usedBy: string | undefined;
}
interface Note {
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: Nusd;
}
interface Member {
  steps: number;
  leaseUntil: number;
  suspectAt: number | undefined;
  lapsedAt: number | undefined;
}

/** Everything that a shard holds: plain data, so that a copy of it is a replica. */
export interface ShardData {
  epoch: number | undefined;
  isOpen: boolean;
  readonly members: Map<string, Member>;
  readonly declared: Map<string, Declared>;
  readonly wallets: Map<string, Spendable>;
  readonly keys: Map<string, StoredKey>;
  readonly tickets: Map<string, Mark>;
  readonly holds: Map<string, Hold>;
  readonly notes: Map<string, Note>;
  readonly closed: Map<string, number>;
  readonly reaped: Map<string, { readonly walletId: string; readonly keyHash: string; readonly until: number }>;
  readonly rates: Map<string, { window: number; requests: number; tokens: number }>;
  stream: SettlementEntry[];
  sequence: number;
  watermark: string;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** An ended hold is remembered for longer than any redeem of it may still arrive: those die with their lease. */
const closedMs = 60_000;
/** Older than every version: what has not been projected. */
const empty: Spendable = { fundsNusd: 0n, version: -1, heldNusd: 0n, unbookedNusd: 0n };

export const emptyShard = (): ShardData => ({
  epoch: undefined,
  isOpen: false,
  members: new Map(),
  declared: new Map(),
  wallets: new Map(),
  keys: new Map(),
  tickets: new Map(),
  holds: new Map(),
  notes: new Map(),
  closed: new Map(),
  reaped: new Map(),
  rates: new Map(),
  stream: [],
  sequence: 0,
  watermark: '0-0',
});

/** Whether a step needs an open epoch. */
export type StepKind = 'admit' | 'settle' | 'project';

/** What a step does on a shard, for a caller that may take it. `change` is called by steps that changed something. */
export type Step<T> = (shard: ShardState, caller: Caller, change: () => void) => T;

/**
 * One shard in memory: the same steps as the Lua scripts, in the words of `packages/money`. It is what embedded mode
 * runs on and the oracle that the scripts are tested against.
 */
export class ShardState {
  readonly #now: () => number;
  #data: ShardData;
  #sweptAt = 0;

  constructor(now: () => number, shard = emptyShard()) {
    this.#now = now;
    this.#data = shard;
  }

  /** What the shard holds, to look at. */
  get contents(): Readonly<ShardData> {
    return this.#data;
  }

  /** A replica: what the shard holds at this moment. */
  copy(): ShardData {
    return structuredClone(this.#data);
  }

  /** Goes on with what a replica has, or with nothing. */
  failOver(replica: ShardData): void {
    this.#data = structuredClone(replica);
  }

  get isOpen(): boolean {
    return this.#data.epoch !== undefined && this.#data.isOpen;
  }

  /** Takes a step for a caller, if it may: see `membership/membership.ts`. */
  guarded<T>(kind: StepKind, caller: Caller, step: Step<T>): Guarded<T> {
    const { epoch, members, isOpen } = this.#data;
    const refused = this.#refusal(caller);
    if (refused !== undefined || epoch === undefined) return { refused: refused ?? 'not_ready', epoch: epoch ?? 0 };
    const member = members.get(caller.client);
    if (member === undefined) return { refused: 'not_joined', epoch };
    if (kind !== 'project' && !isOpen) return { refused: 'not_open', epoch };
    let changed = false;
    try {
      const answer = step(this, caller, () => {
        member.steps += 1;
        changed = true;
      });
      return { count: member.steps, changed, answer };
    } catch (error) {
      if (error instanceof Unleased) return { refused: 'unleased', epoch };
      throw error;
    }
  }

  #refusal({ client, epoch, acked }: Caller): Refusal | undefined {
    const shard = this.#data;
    if (shard.epoch === undefined) return 'not_ready';
    if (epoch < shard.epoch) return 'new_epoch';
    const member = shard.members.get(client);
    if (epoch === shard.epoch && member?.lapsedAt !== undefined) return 'lapsed';
    if (epoch > shard.epoch || (member?.steps ?? 0) < acked) {
      shard.epoch = undefined;
      shard.isOpen = false;
      return 'rolled_back';
    }
    return undefined;
  }

  join(caller: Caller, { declaration, leaseMs }: JoinRequest): Guarded<JoinReply> {
    const { epoch, isOpen, members, declared } = this.#data;
    const refused = this.#refusal(caller);
    if (refused !== undefined || epoch === undefined) return { refused: refused ?? 'not_ready', epoch: epoch ?? 0 };
    const member = members.get(caller.client);
    if (member === undefined && declaration === 'renewal') return { refused: 'not_joined', epoch };
    if (member === undefined && declaration !== undefined && declaration !== 'renewal') {
      declared.set(caller.client, { client: caller.client, ...declaration });
      return { count: 0, changed: false, answer: { result: 'declared', isOpen } };
    }
    const leaseUntil = this.#now() + leaseMs;
    const joined = member ?? { steps: 0, leaseUntil, suspectAt: undefined, lapsedAt: undefined };
    joined.leaseUntil = leaseUntil;
    joined.suspectAt = undefined;
    members.set(caller.client, joined);
    return { count: joined.steps, changed: false, answer: { result: 'joined', isOpen, leaseUntil } };
  }

  leave({ client }: Caller): void {
    const member = this.#data.members.get(client);
    if (member !== undefined) this.#lapse(member);
    this.#releaseAbandoned();
  }

  get members(): ShardMembers {
    const { epoch, isOpen, members, declared } = this.#data;
    return {
      epoch,
      isOpen,
      clients: [...members].filter(([, { lapsedAt }]) => lapsedAt === undefined).map(([client]) => client),
      declared: [...declared.values()],
    };
  }

  beginEpoch(epoch: number): boolean {
    const shard = this.#data;
    if (shard.epoch !== undefined) return false;
    for (const holdId of [...shard.holds.keys()]) this.#release(holdId);
    for (const holdId of [...shard.notes.keys()]) this.#dropNote(holdId);
    shard.members.clear();
    shard.declared.clear();
    shard.epoch = epoch;
    shard.isOpen = false;
    return true;
  }

  admitDeclared(
    client: string,
    leaseMs: number,
    { holds, charges }: { readonly holds: readonly RestoredAmount[]; readonly charges: readonly RestoredCharge[] },
    change: () => void,
  ): boolean {
    const shard = this.#data;
    shard.declared.delete(client);
    if (shard.members.has(client)) return false;
    for (const { holdId, walletId, keyHash, amountNusd } of holds) {
      if (this.#isClosed(holdId) || shard.holds.has(holdId)) continue;
      const restored = { client, walletId, keyHash, amountNusd, estimatedTokens: 0, window: 0, ticketHash: undefined };
      this.#placeHold(holdId, restored);
    }
    for (const charge of charges) {
      this.#placeNote(charge.holdId, charge);
      this.#append(charge.entry);
    }
    const leaseUntil = this.#now() + leaseMs;
    shard.members.set(client, { steps: 0, leaseUntil, suspectAt: undefined, lapsedAt: undefined });
    change();
    return true;
  }

  openEpoch(change: () => void): void {
    this.#data.isOpen = true;
    change();
  }

  discardEpoch(epoch: number): boolean {
    if (this.#data.epoch !== epoch) return false;
    this.#data.epoch = undefined;
    this.#data.isOpen = false;
    return true;
  }

  key(keyHash: string): { readonly projection: KeyProjection | undefined } | undefined {
    return this.#data.keys.get(keyHash);
  }

  isTicketValid(ticketHash: string): boolean {
    if (!this.isOpen) throw new StateUnavailableError('not projected');
    const mark = this.#mark(ticketHash);
    return mark !== undefined && mark.usedBy === undefined && mark.epoch === this.#data.epoch;
  }

  redeem(request: RedeemRequest, caller: Caller, change: () => void): RedeemReply {
    const { holds, keys, tickets, wallets, rates, epoch } = this.#data;
    if (caller.leaseUntil <= this.#now()) throw new Unleased();
    this.#sweep();
    const { right, holdId, amountNusd } = request;
    if (this.#isClosed(holdId)) return { result: 'closed' };
    const repeated = holds.get(holdId);
    if (repeated !== undefined) return { result: 'admitted', rate: this.#rateStatus(repeated.keyHash) };

    const mark = right.kind === 'ticket' ? this.#mark(right.ticketHash) : undefined;
    if (right.kind === 'ticket' && (mark === undefined || mark.usedBy !== undefined || mark.epoch !== epoch))
      return { result: 'invalid_ticket' };
    const keyHash = mark?.keyHash ?? (right.kind === 'key' ? right.keyHash : '');
    const key = keys.get(keyHash);
    const projection = key?.projection;
    if (key === undefined || projection === undefined || !projection.active) {
      return { result: right.kind === 'ticket' ? 'invalid_ticket' : 'unknown_key' };
    }
    if (projection.generation !== request.generation) {
      if (right.kind === 'ticket') return { result: 'invalid_ticket' };
      const { record, generation } = projection;
      return { result: 'stale_key', key: { record, generation, shard: request.shard } };
    }

    const used = this.#rate(keyHash);
    const rate = this.#rateStatus(keyHash);
    if (used.requests + 1 > projection.limitRequests) return { result: 'rate_limited', by: 'requests', rate };
    if (used.tokens > 0 && used.tokens + request.estimatedTokens > projection.limitTokens) {
      return { result: 'rate_limited', by: 'tokens', rate };
    }
    const wallet = wallets.get(projection.walletId);
    if (wallet === undefined || wallet.version < 0) throw new StateUnavailableError('not projected');
    const isFree = request.free === true;
    if (!isFree && hold(wallet, amountNusd) === undefined) return { result: 'insufficient', scope: 'wallet', rate };
    if (!isFree && key.limited && availableNusd(key.spend) < amountNusd)
      return { result: 'insufficient', scope: 'key', rate };

    change();
    if (mark !== undefined && right.kind === 'ticket') tickets.set(right.ticketHash, { ...mark, usedBy: holdId });
    this.#placeHold(holdId, {
      client: caller.client,
      walletId: projection.walletId,
      keyHash,
      amountNusd,
      estimatedTokens: request.estimatedTokens,
      window: used.window,
      ticketHash: right.kind === 'ticket' ? right.ticketHash : undefined,
    });
    rates.set(keyHash, {
      window: used.window,
      requests: used.requests + 1,
      tokens: used.tokens + request.estimatedTokens,
    });
    return { result: 'admitted', rate: this.#rateStatus(keyHash) };
  }

  cancel(holdId: string, change: () => void): void {
    const { tickets, closed } = this.#data;
    if (this.#isClosed(holdId)) return;
    const ticketHash = this.#release(holdId)?.ticketHash;
    const mark = ticketHash === undefined ? undefined : this.#mark(ticketHash);
    if (ticketHash !== undefined && mark?.usedBy === holdId) tickets.set(ticketHash, { ...mark, usedBy: undefined });
    closed.set(holdId, this.#now() + closedMs);
    change();
  }

  settle({ holdId, chargeNusd, usedTokens, entry }: SettleRequest, change: () => void): StreamPlace | undefined {
    const shard = this.#data;
    const ended = this.#release(holdId);
    if (ended !== undefined) {
      this.#placeNote(holdId, { ...ended, amountNusd: chargeNusd });
      const rate = shard.rates.get(ended.keyHash);
      if (rate !== undefined && rate.window === ended.window) {
        rate.tokens = Math.max(0, rate.tokens - ended.estimatedTokens + boundedTokens(usedTokens));
      }
    } else {
      const reaped = shard.reaped.get(holdId);
      shard.reaped.delete(holdId);
      if (reaped !== undefined && reaped.until > this.#now()) {
        this.#placeNote(holdId, { ...reaped, amountNusd: chargeNusd });
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

  putWallet({ walletId, balanceNusd, version }: WalletFunds, change: () => void): void {
    const { wallets } = this.#data;
    const before = wallets.get(walletId) ?? empty;
    if (version <= before.version) return;
    wallets.set(walletId, withFunds(before, balanceNusd, version));
    change();
  }

  putKey(projection: KeyProjection, change: () => void): void {
    const key = this.#keyOrEmpty(projection.keyHash);
    if (projection.generation >= (key.projection?.generation ?? 0)) key.projection = projection;
    setLimit(key, projection.limitFundsNusd, projection.fundsVersion);
    change();
  }

  mint({ ticketHash, walletId, keyHash, generation, ttlMs, free = false }: MintRequest, change: () => void): MintReply {
    const { wallets, keys, tickets, epoch = 0 } = this.#data;
    const wallet = wallets.get(walletId);
    if (wallet === undefined || wallet.version < 0) return { result: 'not_projected' };
    if (keys.get(keyHash)?.projection?.generation !== generation) return { result: 'not_projected' };
    const available = availableNusd(wallet);
    if (available <= 0n && !free) return { result: 'insufficient', availableNusd: available };
    this.#sweep();
    change();
    if (this.#mark(ticketHash) !== undefined) return { result: 'minted' };
    tickets.set(ticketHash, { epoch, walletId, keyHash, expiresAt: this.#now() + ttlMs, usedBy: undefined });
    return { result: 'minted' };
  }

  readWallet(walletId: string): Omit<Spendable, 'version'> | undefined {
    const wallet = this.#data.wallets.get(walletId);
    if (wallet === undefined || wallet.version < 0) return undefined;
    const { fundsNusd, heldNusd, unbookedNusd } = wallet;
    return { fundsNusd, heldNusd, unbookedNusd };
  }

  readSettlements(afterId: string, limit: number): SettlementEntry[] {
    const after = Number.parseInt(afterId, 10);
    return this.#data.stream.filter((entry) => Number.parseInt(entry.streamId, 10) > after).slice(0, limit);
  }

  readHolds(client: string): string[] {
    return [...this.#data.holds].flatMap(([holdId, held]) => (held.client === client ? [holdId] : []));
  }

  readBooks(walletIds: readonly string[], keyHashes: readonly string[]): ShardBooks {
    const { wallets, keys, holds, notes } = this.#data;
    const sum = (amounts: Iterable<Note>, isOf: (note: Note) => boolean): Nusd =>
      [...amounts].filter(isOf).reduce((total, { amountNusd }) => total + amountNusd, 0n);
    const audit = (spend: Spendable | undefined, isOf: (note: Note) => boolean): AuditedFunds[] =>
      spend === undefined || spend.version < 0
        ? []
        : [{ ...spend, holdsNusd: sum(holds.values(), isOf), notesNusd: sum(notes.values(), isOf) }];
    return {
      wallets: new Map(
        walletIds.flatMap((id) =>
          audit(wallets.get(id), ({ walletId }) => walletId === id).map((funds) => [id, funds] as const),
        ),
      ),
      keys: new Map(
        keyHashes.flatMap((hash) =>
          audit(keys.get(hash)?.spend, ({ keyHash }) => keyHash === hash).map((funds) => [hash, funds] as const),
        ),
      ),
    };
  }

  readNotes(): string[] {
    return [...this.#data.notes.keys()];
  }

  book({ wallet, keys, holdIds }: BookedCharges, change: () => void): void {
    for (const holdId of holdIds) this.#dropNote(holdId);
    this.putWallet(wallet, () => {});
    for (const { keyHash, limitFundsNusd, version } of keys) {
      setLimit(this.#keyOrEmpty(keyHash), limitFundsNusd, version);
    }
    change();
  }

  forget(holdIds: readonly string[], change: () => void): void {
    for (const holdId of holdIds) this.#dropNote(holdId);
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
    const { isOpen, members } = this.#data;
    if (!isOpen) return 0;
    const now = this.#now();
    let isSomeoneReaped = false;
    for (const [client, member] of members) {
      if (member.lapsedAt !== undefined) {
        if (now - member.lapsedAt > dayMs) members.delete(client);
        continue;
      }
      if (member.leaseUntil > now) continue;
      // A suspicion of later than now is of a clock that was set back.
      member.suspectAt = Math.min(member.suspectAt ?? now, now);
      if (now - member.suspectAt < graceMs) continue;
      this.#lapse(member);
      isSomeoneReaped = true;
    }
    return isSomeoneReaped ? this.#releaseAbandoned() : 0;
  }

  #lapse(member: Member): void {
    member.lapsedAt = this.#now();
    member.steps = 0;
  }

  /** Releases every hold whose holder is not there any more; what they come to may still be settled. */
  #releaseAbandoned(): number {
    const { members, holds, reaped } = this.#data;
    const abandoned = [...holds].filter(([, { client }]) => {
      const member = members.get(client);
      return member === undefined || member.lapsedAt !== undefined;
    });
    for (const [holdId, { walletId, keyHash }] of abandoned) {
      this.#release(holdId);
      reaped.set(holdId, { walletId, keyHash, until: this.#now() + dayMs });
    }
    return abandoned.length;
  }

  /** Everything that counts, in a form that can be compared; for tests. */
  snapshot(): object {
    this.#sweep(true);
    const shard = this.#data;
    return {
      epoch: shard.epoch === undefined ? undefined : { id: shard.epoch, isOpen: shard.isOpen },
      members: Object.fromEntries(
        [...shard.members].flatMap(([client, { steps, lapsedAt }]) =>
          lapsedAt === undefined ? [[client, steps]] : [],
        ),
      ),
      wallets: Object.fromEntries(shard.wallets),
      keys: Object.fromEntries([...shard.keys].map(([hash, key]) => [hash, key.spend])),
      tickets: Object.fromEntries([...shard.tickets].map(([hash, mark]) => [hash, mark.usedBy ?? ''])),
      holds: Object.fromEntries([...shard.holds].map(([id, held]) => [id, held.amountNusd])),
      notes: Object.fromEntries([...shard.notes].map(([id, note]) => [id, note.amountNusd])),
      closed: [...shard.closed.keys()].sort(),
      reaped: [...shard.reaped.keys()].sort(),
      stream: shard.stream.map((entry) => entry.payload),
    };
  }

  #append({ payload, mac }: { readonly payload: string; readonly mac: string }): string {
    const shard = this.#data;
    shard.sequence += 1;
    const streamId = `${shard.sequence}-0`;
    shard.stream.push({ streamId, payload, mac });
    return streamId;
  }

  #placeHold(holdId: string, held: Hold): void {
    const { holds, wallets } = this.#data;
    holds.set(holdId, held);
    const wallet = wallets.get(held.walletId) ?? empty;
    wallets.set(held.walletId, { ...wallet, heldNusd: wallet.heldNusd + held.amountNusd });
    const key = this.#keyOrEmpty(held.keyHash);
    key.spend = { ...key.spend, heldNusd: key.spend.heldNusd + held.amountNusd };
  }

  #release(holdId: string): Hold | undefined {
    const { holds, wallets, keys } = this.#data;
    const held = holds.get(holdId);
    if (held === undefined) return undefined;
    holds.delete(holdId);
    const wallet = wallets.get(held.walletId);
    if (wallet !== undefined) wallets.set(held.walletId, settle(wallet, held.amountNusd, 0n));
    const key = keys.get(held.keyHash);
    if (key !== undefined) key.spend = settle(key.spend, held.amountNusd, 0n);
    return held;
  }

  #placeNote(holdId: string, { walletId, keyHash, amountNusd }: Note): void {
    const { notes, wallets } = this.#data;
    if (amountNusd === 0n || notes.has(holdId)) return;
    notes.set(holdId, { walletId, keyHash, amountNusd });
    wallets.set(walletId, settle(wallets.get(walletId) ?? empty, 0n, amountNusd));
    const key = this.#keyOrEmpty(keyHash);
    key.spend = settle(key.spend, 0n, amountNusd);
  }

  #dropNote(holdId: string): void {
    const { notes, wallets, keys } = this.#data;
    const note = notes.get(holdId);
    if (note === undefined) return;
    notes.delete(holdId);
    const wallet = wallets.get(note.walletId);
    if (wallet !== undefined) wallets.set(note.walletId, booked(wallet, note.amountNusd));
    const key = keys.get(note.keyHash);
    if (key !== undefined) key.spend = booked(key.spend, note.amountNusd);
  }

  #keyOrEmpty(keyHash: string): StoredKey {
    const { keys } = this.#data;
    const known = keys.get(keyHash);
    if (known !== undefined) return known;
    const key: StoredKey = { projection: undefined, spend: empty, limited: false };
    keys.set(keyHash, key);
    return key;
  }

  #mark(ticketHash: string): Mark | undefined {
    const mark = this.#data.tickets.get(ticketHash);
    return mark !== undefined && mark.expiresAt > this.#now() ? mark : undefined;
  }

  #isClosed(holdId: string): boolean {
    return (this.#data.closed.get(holdId) ?? 0) > this.#now();
  }

  #rate(keyHash: string): { window: number; requests: number; tokens: number } {
    const window = Math.floor(this.#now() / minuteMs);
    const rate = this.#data.rates.get(keyHash);
    return rate?.window === window ? rate : { window, requests: 0, tokens: 0 };
  }

  #rateStatus(keyHash: string): RateStatus {
    const used = this.#rate(keyHash);
    const projection = this.#data.keys.get(keyHash)?.projection;
    const { limitRequests, limitTokens } = projection ?? { limitRequests: 0, limitTokens: 0 };
    return {
      limitRequests,
      remainingRequests: Math.max(0, limitRequests - used.requests),
      limitTokens,
      remainingTokens: Math.max(0, limitTokens - used.tokens),
      resetMs: (used.window + 1) * minuteMs - this.#now(),
    };
  }

  /** Forgets what has expired; at most once a second, so that no request pays for it. */
  #sweep(now = false): void {
    const at = this.#now();
    if (!now && at - this.#sweptAt < 1000) return;
    this.#sweptAt = at;
    const { tickets, closed, reaped, rates } = this.#data;
    for (const [hash, mark] of tickets) if (mark.expiresAt <= at) tickets.delete(hash);
    for (const [id, until] of closed) if (until <= at) closed.delete(id);
    for (const [id, { until }] of reaped) if (until <= at) reaped.delete(id);
    const window = Math.floor(at / minuteMs);
    for (const [hash, rate] of rates) if (rate.window < window - 1) rates.delete(hash);
  }
}

/** The caller's lease has run out: the step is not taken. */
class Unleased extends Error {}

function setLimit(key: StoredKey, limitFundsNusd: Nusd | undefined, version: number): void {
  if (version <= key.spend.version) return;
  key.limited = limitFundsNusd !== undefined;
  key.spend = { ...key.spend, fundsNusd: limitFundsNusd ?? 0n, version };
}
