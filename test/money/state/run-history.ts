// Longer than 400 lines, because each operation of a history is judged against the same record of what came before.

import type { MemoryStore, RedeemRequest, Right, SettleRequest, State, TicketForm } from '@sotto/state';
import { generationOf, monthOf } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import {
  availableIn,
  type Charge,
  ControlTruth,
  fundsOf,
  type KeyTruth,
  type Message,
  openIn,
  walletIds,
} from './control-truth.ts';
import { kindOf, outcome, settlementOf, statedGeneration } from './fixtures.ts';
import type { History, Operation, Redeem, StepRight } from './history.ts';
import { ageKeys, asSnapshot, readShard, type StoredShard, sumsOf } from './read-shard.ts';

export interface Stage {
  readonly redis: State;
  readonly memory: State;
  /** The memory driver's store. */
  readonly store: MemoryStore;
  /** The Redis behind the driver, in the same database. */
  readonly raw: Redis;
  /** The clock of both drivers. */
  readonly clock: { now: number };
  /** How often each kind of reply occurred. */
  readonly seen: Map<string, number>;
}

const shard = 3;
const prefix = `sotto:{w${shard}}:`;
/** No redeem arrives later than this after its hold ended, because an ended hold is remembered for this long. */
const endedIsRememberedMs = 60_000;
const graceMs = 5_000;
const declaration = { payload: 'what is held', mac: 'mac' };

/** Runs one history through both drivers. Throws if they differ or if a rule about money is broken. */
export async function runHistory(stage: Stage, { unitNusd, projectedAtFirst, operations }: History): Promise<void> {
  const run = new HistoryRun(stage, unitNusd);
  await run.open();
  if (projectedAtFirst) await run.deliverAll();
  await run.check();
  for (const step of operations) {
    await run.apply(step);
    await run.check();
  }
  await run.finish();
}

/** A request from a broker. Retries are identical except for the plan's generation. */
interface Sent {
  readonly request: Omit<RedeemRequest, 'generation'>;
  readonly key: KeyTruth | undefined;
  /** The month of its hold. Undefined: not admitted. */
  month: string | undefined;
}

class HistoryRun {
  readonly #stage: Stage;
  readonly #truth: ControlTruth;
  readonly #minted = new Map<
    string,
    { readonly key: KeyTruth; readonly generation: string; readonly form: TicketForm; readonly expiresAt: number }
  >();
  readonly #sent: Sent[] = [];
  readonly #settlements = new Map<string, SettleRequest>();
  readonly #closedUntil = new Map<string, number>();
  readonly #usedTickets = new Set<string>();
  readonly #charged = new Set<string>();
  #epoch = 0;
  /** Holds that have ended. */
  readonly #ended: {
    readonly holdId: string;
    readonly walletId: string;
    readonly keyHash: string;
    readonly amountNusd: bigint;
  }[] = [];
  readonly #readIds: { readonly redis: string; readonly memory: string }[] = [];
  #before: StoredShard | undefined;

  constructor(stage: Stage, unitNusd: bigint) {
    this.#stage = stage;
    this.#truth = new ControlTruth(shard, unitNusd);
  }

  async apply(step: Operation): Promise<void> {
    const { redis, memory, store, raw, clock } = this.#stage;
    switch (step.op) {
      case 'deposit':
        return this.#truth.deposit(step.wallet, step.units);
      case 'change_key':
        return this.#truth.changeKey(step.key, step.change);
      case 'set_budget':
        return this.#truth.setBudget(step.budget, step.units);
      case 'deliver':
        return this.#deliver(newest(this.#truth.messages, step.message), step.isWhole);
      case 'mint':
        return this.#mint(step);
      case 'peek': {
        const { right, key } = this.#rightOf(step.right);
        const generation = this.#generationOf(right, key, step.staleBy);
        await this.#both('peek', (state) => state.peek({ shard, right, generation }));
        return;
      }
      case 'redeem':
        return this.#redeem([step]);
      case 'cancel': {
        const sent = step.beforeRedeem ? undefined : newest(this.#sent, step.hold);
        const holdId = sent?.request.holdId ?? this.#nextHoldId;
        await this.#both('cancel', (state) => state.cancel(shard, holdId));
        // The redeem was undone, so its ticket must be as it was before.
        const right = sent?.request.right;
        const wasUndone = this.#before?.holds.has(holdId) && !store.shard(shard).contents.holds.has(holdId);
        if (right?.kind === 'ticket' && wasUndone) this.#usedTickets.delete(right.ticketHash);
        this.#closedUntil.set(holdId, clock.now + endedIsRememberedMs);
        return;
      }
      case 'settle':
        return this.#settle([newest(this.#sent, step.hold)], step);
      case 'redeem_together':
        return this.#redeem(step.redeems);
      case 'settle_together':
        return this.#settle(this.#sent.slice(-step.holds), step);
      case 'read_settlements':
        await this.#both('takeSettlements', async (state) => {
          const { entries } = await state.takeSettlements(shard, '0-0', step.limit);
          return entries.map(({ payload, mac }) => ({ payload, mac }));
        });
        await this.#readSettlements(step.limit);
        return;
      case 'acknowledge': {
        const entry = newest(this.#readIds, step.entry);
        if (entry === undefined) return;
        await this.#both('acknowledge', (state) =>
          state.acknowledge(shard, state === memory ? entry.memory : entry.redis, state.membership.caller(shard)),
        );
        const [ofRedis, ofMemory] = [await outcome(redis.watermark(shard)), await outcome(memory.watermark(shard))];
        if (!('answer' in ofRedis) || !('answer' in ofMemory)) return expect(ofRedis).toEqual(ofMemory);
        const known = [...this.#readIds, { redis: '0-0', memory: '0-0' }];
        expect(known).toContainEqual({ redis: ofRedis.answer.streamId, memory: ofMemory.answer.streamId });
        expect(ofRedis.answer.epoch).toBe(ofMemory.answer.epoch);
        return;
      }
      case 'lookup_key':
        await this.#both('lookup', (state) => state.lookupKey(this.#truth.keys[step.key]?.keyHash ?? 'unknown'));
        return;
      case 'read_wallet':
        await this.#both('read wallet', (state) => state.readWallet(shard, walletIds[step.wallet] ?? 'unknown'));
        return;
      case 'reserve':
        return this.#reserve(step);
      case 'reap':
        await this.#both('reap', (state) => state.reap(shard, graceMs));
        return;
      case 'join': {
        const declarations = { nothing: undefined, something: declaration, renewal: 'renewal' } as const;
        const request = { declaration: declarations[step.declares], leaseMs: step.leaseS * 1000 };
        await this.#both('join', (state) => state.join(shard, request));
        return;
      }
      case 'leave':
        await this.#both('leave', (state) => state.leave(shard));
        return;
      case 'end_epoch':
        await this.#both('end', (state) => state.discardEpoch(shard, this.#epoch));
        if (step.begins) await this.#begin();
        return;
      case 'admit_declared': {
        const leaseMs = step.leaseS * 1000;
        const held = [...(this.#before?.holds ?? [])].map(([holdId, amount]) => ({ holdId, ...amount }));
        const lost = this.#ended.slice(-step.holds);
        const holds = [...held.slice(0, 1), ...lost].map((amount) => ({
          ...amount,
          budgetIds: this.#truth.keys.find(({ keyHash }) => keyHash === amount.keyHash)?.budgetIds ?? [],
        }));
        await this.#both('admit', (state) => state.admitDeclared(shard, 'another', { leaseMs, holds, charges: [] }));
        return;
      }
      case 'open_epoch':
        await this.#both('open', (state) => state.openEpoch(shard));
        return;
      case 'forget_step': {
        const { client } = memory.membership.caller(shard);
        const member = store.shard(shard).contents.members.get(client);
        if (member === undefined || member.steps === 0 || member.lapsedAt !== undefined) return;
        member.steps -= 1;
        await raw.hincrby(`${prefix}clients`, `${client} n`, -1);
        return;
      }
      case 'advance':
        clock.now += step.seconds * 1000;
        return ageKeys(raw, step.seconds * 1000);
      default:
        throw new Error(`no such step: ${step satisfies never}`);
    }
  }

  /** Checks the invariants after every step. */
  async check(): Promise<void> {
    const { raw, store, redis, memory } = this.#stage;
    const stored = await readShard(raw, prefix);
    expect(asSnapshot(stored)).toEqual(store.shard(shard).snapshot());
    expect(redis.membership.caller(shard)).toEqual(memory.membership.caller(shard));
    if (stored.epoch !== undefined) this.#epoch = stored.epoch.id;
    for (const [holdId, amount] of this.#before?.holds ?? []) {
      if (!stored.holds.has(holdId)) this.#ended.push({ holdId, ...amount });
    }
    for (const [walletId, { heldNusd, unbookedNusd }] of stored.wallets) {
      expect({ heldNusd, unbookedNusd }).toEqual(sumsOf(stored, (amount) => amount.walletId === walletId));
    }
    for (const [keyHash, { heldNusd, unbookedNusd }] of stored.keys) {
      expect({ heldNusd, unbookedNusd }).toEqual(sumsOf(stored, (amount) => amount.keyHash === keyHash));
    }
    for (const { keyHash, amountNusd } of [...stored.holds.values(), ...stored.notes.values()]) {
      if (amountNusd > 0n) expect(stored.keys.has(keyHash), 'an amount counts in no key').toBe(true);
    }
    for (const [workspaceId, { keys }] of stored.workspaces) {
      const named = [...stored.keys.values()].filter((key) => key.workspaceId === workspaceId);
      expect(keys, 'keys that name a workspace').toBe(named.length);
    }
    for (const [budgetId, { limitNusd, months }] of stored.budgets) {
      const names = [...stored.counted.values()].map(({ month }) => month);
      for (const month of limitNusd === undefined ? [] : [...names, ...Object.keys(months)]) {
        expect(months[month]?.openNusd ?? 0n, 'open in a budget').toBe(openIn(stored, budgetId, month));
      }
    }
    for (const [what, { amountNusd }] of stored.counted) {
      const [kind, id = ''] = what.split(' ');
      const counted = kind === 'hold' ? stored.holds.get(id) : stored.notes.get(id);
      expect(amountNusd, what).toBe(counted?.amountNusd);
    }
    for (const holdId of stored.notes.keys()) {
      if (this.#before?.notes.has(holdId)) continue;
      expect(this.#charged.has(holdId), 'a hold charged twice').toBe(false);
      this.#charged.add(holdId);
    }
    this.#before = stored;
  }

  /** Ensures that money can move: the epoch is open and a process has joined it. */
  async open(): Promise<void> {
    await this.#begin();
    const join = () => this.#both('join', (state) => state.join(shard, { declaration: undefined, leaseMs: 1_000_000 }));
    for (let tries = 0; tries < 5; tries += 1) {
      if ((await join())?.result === 'joined') break;
      await this.#begin();
    }
    await this.#both('open', (state) => state.openEpoch(shard));
  }

  async #begin(): Promise<void> {
    await this.#both('begin', (state) => state.beginEpoch(shard, this.#epoch + 1));
    const { epoch } = await this.#stage.memory.readMembers(shard);
    this.#epoch = epoch ?? this.#epoch;
  }

  async deliverAll(): Promise<void> {
    for (const message of this.#truth.messages) await this.#deliver(message, true);
  }

  /** Settles or reaps everything, and books it, however late. Then nothing is held and the ledger agrees. */
  async finish(): Promise<void> {
    await this.open();
    await this.check();
    const open = this.#sent.filter(({ request }) => this.#before?.holds.has(request.holdId));
    for (const [place, sent] of open.entries()) {
      if (place % 2 === 0) await this.#settle([sent], { percent: 100, tokens: 1 });
    }
    await this.apply({ op: 'advance', seconds: 2000 });
    await this.apply({ op: 'reap' });
    await this.apply({ op: 'advance', seconds: 10 });
    await this.apply({ op: 'reap' });
    await this.open();
    while ((await this.#readSettlements(100)) > 0);
    for (const message of this.#truth.messages.toReversed()) await this.#deliver(message, true);
    await this.check();
    const ended = { heldNusd: 0n, unbookedNusd: 0n };
    expect([...(this.#before?.holds ?? []), ...(this.#before?.notes ?? [])]).toEqual([]);
    for (const [wallet, { balanceNusd, version }] of this.#truth.accounts.entries()) {
      const stored = this.#before?.wallets.get(walletIds[wallet] ?? '');
      expect(stored).toEqual({ ...ended, fundsNusd: balanceNusd, version });
    }
    for (const { budgetId, limitNusd, version, spent } of this.#truth.budgets) {
      const stored = this.#before?.budgets.get(budgetId);
      if (stored?.limitNusd === undefined) {
        expect(limitNusd).toBeUndefined();
        continue;
      }
      const months = [...spent].filter(([, nusd]) => nusd > 0n);
      expect(stored).toEqual({
        ...{ limitNusd, version },
        months: Object.fromEntries(months.map(([month, spentNusd]) => [month, { spentNusd, openNusd: 0n }])),
      });
    }
    for (const key of this.#truth.keys) {
      const stored = this.#before?.keys.get(key.keyHash);
      expect(stored?.workspaceId, 'a key without a record, or a record without a key').toBe(
        key.active ? `workspace-${key.wallet}` : undefined,
      );
      if (key.active) expect(stored).toMatchObject({ ...ended, fundsNusd: fundsOf(key) ?? 0n });
    }
    for (const [wallet, { version, ticketsSince, isReadable }] of this.#truth.workspaces.entries()) {
      const keys = this.#truth.keys.filter((key) => key.wallet === wallet && key.active).length;
      if (keys === 0) continue;
      const preferences = isReadable ? initialPreferences : undefined;
      const stored = this.#before?.workspaces.get(`workspace-${wallet}`);
      expect(stored).toEqual({ version, ticketsSince, keys, preferences, isOff: !isReadable });
    }
  }

  get #nextHoldId(): string {
    return `hold-${this.#sent.length}`;
  }

  /** Asks both drivers. Their answers must be equal. */
  async #both<T>(name: string, call: (state: State) => Promise<T>): Promise<T | undefined> {
    const [answer] = await this.#together(name, [call]);
    return answer;
  }

  /** Asks Redis for everything in one turn, and memory for one after the other. Their answers must be equal. */
  async #together<T>(name: string, calls: readonly ((state: State) => Promise<T>)[]): Promise<(T | undefined)[]> {
    const { redis, memory, seen } = this.#stage;
    const ofRedis = await Promise.all(calls.map((call) => outcome(call(redis))));
    const ofMemory: typeof ofRedis = [];
    for (const call of calls) ofMemory.push(await outcome(call(memory)));
    expect(ofRedis, name).toEqual(ofMemory);
    return ofRedis.map((each) => {
      const answer = 'answer' in each ? each.answer : undefined;
      const kind = `${name}: ${'answer' in each ? kindOf(answer) : 'unavailable'}`;
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
      return answer;
    });
  }

  async #deliver(message: Message | undefined, isWhole: boolean): Promise<void> {
    if (message === undefined) return;
    const reply = await this.#both<unknown>(message.to, (state) => {
      if (message.to === 'books') return state.book(message.charges);
      if (message.to === 'forget') return state.forget(shard, [message.noteId]);
      if (message.to === 'key') return state.putKey(message.projection);
      if (message.to === 'removed key') return state.removeKey(message.removed);
      if (message.to === 'workspace') return state.putWorkspace(message.projection);
      if (message.to === 'budget') return state.putBudget(message.projection);
      if (message.to === 'removed budget') return state.removeBudget(message.removed);
      const { walletId, balanceNusd, version } = message;
      return state.putWallet({ shard, walletId, balanceNusd, version });
    });
    if (message.to !== 'key' || reply !== true || !isWhole) return;
    const preferences = this.#truth.preferencesOf(message.workspace);
    await this.#both('preferences', (state) => state.putWorkspace(preferences));
  }

  #reservations = 0;

  async #reserve({ wallet, units, alone, leaves }: Extract<Operation, { op: 'reserve' }>): Promise<void> {
    this.#reservations += 1;
    const noteId = `reservation:${this.#reservations}`;
    const walletId = walletIds[wallet] ?? '';
    const balanceNusd = this.#truth.accounts[wallet]?.balanceNusd ?? 0n;
    const amountNusd = BigInt(units) * this.#truth.unitNusd;
    const stored = this.#before?.wallets.get(walletId);
    const request = { shard, noteId, walletId, amountNusd, balanceNusd, alone };
    const reply = await this.#both('reserve', (state) => state.reserve(request));
    if (reply === undefined || stored === undefined) return;
    const taken = stored.heldNusd + stored.unbookedNusd;
    const least = stored.fundsNusd < balanceNusd ? stored.fundsNusd : balanceNusd;
    const isThere = least - taken >= amountNusd;
    expect(reply.result).toBe(alone && taken > 0n ? 'busy' : isThere ? 'reserved' : 'insufficient');
    if (reply.result === 'reserved') this.#truth.endReservation(wallet, { noteId, amountNusd, leaves });
  }

  async #mint({ ticket, key: index, ttlS, form }: Extract<Operation, { op: 'mint' }>): Promise<void> {
    const { now } = this.#stage.clock;
    const key = this.#truth.keys[index];
    const ticketHash = `ticket-${ticket}`;
    const earlier = this.#minted.get(ticketHash);
    // A repeated mint is for the same key and arrives within its ticket's life. Another ticket has another hash.
    if (key === undefined || (earlier !== undefined && (earlier.key !== key || earlier.expiresAt <= now))) return;
    const ttlMs = ttlS * 1000;
    const generation = this.#truthOf(key, 0);
    const reply = await this.#both('mint', (state) =>
      state.mint({
        shard,
        ticketHashes: [ticketHash],
        walletId: walletIds[key.wallet] ?? '',
        keyHash: key.keyHash,
        generation,
        form,
        ttlMs,
      }),
    );
    if (reply?.result !== 'minted' || earlier !== undefined) return;
    this.#minted.set(ticketHash, { key, generation, form, expiresAt: now + ttlMs });
  }

  /** Sends requests in one turn. What was there is judged for each after the ones before it. */
  async #redeem(steps: readonly Redeem[]): Promise<void> {
    const { now } = this.#stage.clock;
    const requests = steps.flatMap((step) => {
      const earlier = step.again === undefined ? undefined : newest(this.#sent, step.again);
      const sent = earlier ?? this.#send(step);
      const { right, holdId } = sent.request;
      if (step.delayed || (this.#closedUntil.get(holdId) ?? Number.POSITIVE_INFINITY) <= now) return [];
      return [{ sent, request: { ...sent.request, generation: this.#generationOf(right, sent.key, step.staleBy) } }];
    });
    const calls = requests.map(
      ({ request }) =>
        (state: State) =>
          state.redeem(request),
    );
    const taken: { readonly key: KeyTruth | undefined; readonly holdId: string; readonly amountNusd: bigint }[] = [];
    for (const [at, reply] of (await this.#together('redeem', calls)).entries()) {
      const sent = requests[at]?.sent;
      if (sent === undefined) continue;
      const { holdId, right, amountNusd } = sent.request;
      const available = availableIn(this.#before, sent.key, monthOf(now), taken);
      if (reply?.result === 'admitted') sent.month ??= reply.month;
      const isKnown = this.#before?.holds.has(holdId) || taken.some((other) => other.holdId === holdId);
      if (reply?.result === 'admitted' && !isKnown) {
        taken.push({ key: sent.key, holdId, amountNusd });
        expect(amountNusd, 'admitted beyond the wallet').toBeLessThanOrEqual(available.walletNusd);
        expect(amountNusd, 'admitted beyond the key').toBeLessThanOrEqual(available.keyNusd ?? amountNusd);
        for (const nusd of available.budgetsNusd) {
          expect(amountNusd, 'admitted beyond a budget').toBeLessThanOrEqual(nusd);
        }
        if (right.kind !== 'ticket') continue;
        expect(this.#usedTickets.has(right.ticketHash), 'a ticket admitted twice').toBe(false);
        this.#usedTickets.add(right.ticketHash);
      }
      if (reply?.result === 'insufficient' && reply.scope === 'budget') {
        const isShort = available.budgetsNusd.some((nusd) => nusd < amountNusd);
        expect(isShort, 'refused though it is there').toBe(true);
      } else if (reply?.result === 'insufficient') {
        const there = reply.scope === 'wallet' ? available.walletNusd : available.keyNusd;
        expect(amountNusd, 'refused though it is there').toBeGreaterThan(there ?? amountNusd);
      }
    }
  }

  #rightOf(step: StepRight): { readonly right: Right; readonly key: KeyTruth | undefined } {
    if ('key' in step) {
      const key = this.#truth.keys[step.key];
      return { key, right: { kind: 'key', keyHash: key?.keyHash ?? 'unknown' } };
    }
    const [ticketHash, ticket] = newest([...this.#minted], step.ticket) ?? ['forged', undefined];
    return { key: ticket?.key, right: { kind: 'ticket', ticketHash } };
  }

  /** The generation that a request by this right states, if its ticket does not contain it. */
  #generationOf(right: Right, key: KeyTruth | undefined, staleBy: number): string | undefined {
    const ticket = right.kind === 'ticket' ? this.#minted.get(right.ticketHash) : undefined;
    if (ticket?.form === 2) return undefined;
    if (key === undefined) return 'unknown';
    const generation = ticket?.generation ?? this.#truthOf(key, staleBy);
    return statedGeneration(right, walletIds[key.wallet] ?? '', generation);
  }

  #truthOf(key: KeyTruth, staleBy: number): string {
    return generationOf(key.generation, (this.#truth.workspaces[key.wallet]?.version ?? 0) - staleBy);
  }

  #send(step: Redeem): Sent {
    const { right, key } = this.#rightOf(step.right);
    const sent: Sent = {
      key,
      month: undefined,
      request: {
        shard,
        right,
        holdId: this.#nextHoldId,
        amountNusd: BigInt(step.units) * this.#truth.unitNusd + BigInt(step.oddNusd),
        estimatedTokens: step.tokens,
      },
    };
    this.#sent.push(sent);
    return sent;
  }

  async #settle(
    sent: readonly (Sent | undefined)[],
    { percent, tokens }: { readonly percent: number; readonly tokens: number },
  ): Promise<void> {
    const settlements = sent.flatMap((each) => {
      if (each === undefined) return [];
      const { holdId, amountNusd } = each.request;
      // A broker that retries a settlement sends an identical one.
      const charge = (amountNusd * BigInt(percent)) / 100n;
      const settlement = this.#settlements.get(holdId) ?? this.#settlement(each, charge, tokens);
      this.#settlements.set(holdId, settlement);
      this.#closedUntil.set(holdId, this.#stage.clock.now + endedIsRememberedMs);
      return [settlement];
    });
    const calls = settlements.map((settlement) => async (state: State) => ({
      told: (await state.settle(settlement)) !== undefined,
    }));
    await this.#together('settle', calls);
  }

  #settlement({ request: { holdId }, key, month }: Sent, chargeNusd: bigint, usedTokens: number): SettleRequest {
    const charge: Charge = {
      holdId,
      keyHash: key?.keyHash,
      chargeNusd: chargeNusd.toString(),
      month: month ?? '2026-12',
    };
    const entry = { payload: JSON.stringify(charge), mac: `mac of ${holdId}` };
    const isRelease = chargeNusd === 0n && usedTokens === 0;
    return settlementOf({ shard, holdId, chargeNusd, usedTokens, entry: isRelease ? undefined : entry });
  }

  async #readSettlements(limit: number): Promise<number> {
    const { redis, memory } = this.#stage;
    const last = this.#readIds.at(-1) ?? { redis: '0-0', memory: '0-0' };
    const ofRedis = await redis.readSettlements(shard, last.redis, limit);
    const ofMemory = await memory.readSettlements(shard, last.memory, limit);
    const content = ({ payload, mac }: (typeof ofRedis)[number]) => ({ payload, mac });
    expect(ofRedis.map(content)).toEqual(ofMemory.map(content));
    for (const [place, { streamId }] of ofRedis.entries()) {
      this.#readIds.push({ redis: streamId, memory: ofMemory[place]?.streamId ?? '' });
    }
    this.#truth.book(ofRedis.map(({ payload }): Charge => JSON.parse(payload)));
    return ofRedis.length;
  }
}

const newest = <T>(list: readonly T[], place: number): T | undefined =>
  list.at(-1 - (place % Math.max(1, list.length)));
