import { maxNusd } from '@sotto/money';
import { monthOf, type SettleRequest, type State } from '@sotto/state';
import { expect } from 'vitest';
import { BothDrivers, newest, type Stage, shard } from './both-drivers.ts';
import { availableIn, type Charge, ControlTruth, type KeyAmount, type Message, walletIds } from './control-truth.ts';
import { outcome } from './fixtures.ts';
import type { History, Operation, Redeem } from './history.ts';
import { HistoryRights } from './history-rights.ts';
import { expectAtRest, expectSums } from './invariants.ts';
import { ageKeys, asSnapshot, readShard, type StoredShard } from './read-shard.ts';
import { type Sent, settlementFor } from './sent.ts';

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

class HistoryRun {
  readonly #stage: Stage;
  readonly #truth: ControlTruth;
  readonly #drivers: BothDrivers;
  readonly #rights: HistoryRights;
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
    this.#drivers = new BothDrivers(stage);
    this.#rights = new HistoryRights(this.#truth, this.#drivers, stage);
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
        return this.#rights.mint(step);
      case 'peek': {
        const { right } = this.#rights.of(step.right);
        await this.#drivers.both('peek', (state) => state.peek({ shard, right }));
        return;
      }
      case 'count_refusal':
        return this.#rights.countRefusal(step.right);
      case 'redeem':
        return this.#redeem([step]);
      case 'cancel': {
        const sent = step.beforeRedeem ? undefined : newest(this.#sent, step.hold);
        const holdId = sent?.request.holdId ?? this.#nextHoldId;
        await this.#drivers.both('cancel', (state) => state.cancel(shard, holdId));
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
        await this.#drivers.both('takeSettlements', async (state) => {
          const { entries } = await state.takeSettlements(shard, '0-0', step.limit);
          return entries.map(({ payload, mac }) => ({ payload, mac }));
        });
        await this.#readSettlements(step.limit);
        return;
      case 'acknowledge': {
        const entry = newest(this.#readIds, step.entry);
        if (entry === undefined) return;
        await this.#drivers.both('acknowledge', (state) =>
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
        await this.#drivers.both('lookup', (state) =>
          state.lookupKey(this.#truth.keys[step.key]?.keyHash ?? 'unknown'),
        );
        return;
      case 'read_wallet':
        await this.#drivers.both('read wallet', (state) =>
          state.readWallet(shard, walletIds[step.wallet] ?? 'unknown'),
        );
        return;
      case 'reserve':
        return this.#reserve(step);
      case 'reap':
        await this.#drivers.both('reap', (state) => state.reap(shard, graceMs));
        return;
      case 'join': {
        const declarations = { nothing: undefined, something: declaration, renewal: 'renewal' } as const;
        const request = { declaration: declarations[step.declares], leaseMs: step.leaseS * 1000 };
        await this.#drivers.both('join', (state) => state.join(shard, request));
        return;
      }
      case 'leave':
        await this.#drivers.both('leave', (state) => state.leave(shard));
        return;
      case 'end_epoch':
        await this.#drivers.both('end', (state) => state.discardEpoch(shard, this.#epoch));
        if (step.begins) await this.#begin();
        return;
      case 'admit_declared': {
        const leaseMs = step.leaseS * 1000;
        const held = [...(this.#before?.holds ?? [])].map(([holdId, amount]) => ({ holdId, ...amount }));
        const lost = this.#ended.slice(-step.holds);
        const holds = [...held.slice(0, 1), ...lost].map((amount) => {
          const sent = this.#sent.find(({ request }) => request.holdId === amount.holdId);
          return { ...amount, month: sent?.month ?? monthOf(this.#stage.clock.now), budgetIds: sent?.budgetIds ?? [] };
        });
        await this.#drivers.both('admit', (state) =>
          state.admitDeclared(shard, 'another', { leaseMs, holds, charges: [] }),
        );
        return;
      }
      case 'open_epoch':
        await this.#drivers.both('open', (state) => state.openEpoch(shard));
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
    expectSums(stored);
    // Otherwise the ledger would book a charge to another tag than the one whose budget admitted it.
    for (const [holdId, { budgetIds }] of stored.holds) {
      const sent = this.#sent.find(({ request }) => request.holdId === holdId);
      expect(budgetIds, 'held in other budgets than the reference names').toEqual(sent?.budgetIds);
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
    const join = () =>
      this.#drivers.both('join', (state) => state.join(shard, { declaration: undefined, leaseMs: 1_000_000 }));
    for (let tries = 0; tries < 5; tries += 1) {
      if ((await join())?.result === 'joined') break;
      await this.#begin();
    }
    await this.#drivers.both('open', (state) => state.openEpoch(shard));
  }

  async #begin(): Promise<void> {
    await this.#drivers.both('begin', (state) => state.beginEpoch(shard, this.#epoch + 1));
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
    expectAtRest(this.#before, this.#truth);
  }

  get #nextHoldId(): string {
    return `hold-${this.#sent.length}`;
  }

  async #deliver(message: Message | undefined, isWhole: boolean): Promise<void> {
    if (message === undefined) return;
    const reply = await this.#drivers.both<unknown>(message.to, (state) => {
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
    await this.#drivers.both('preferences', (state) => state.putWorkspace(preferences));
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
    const reply = await this.#drivers.both('reserve', (state) => state.reserve(request));
    if (reply === undefined || stored === undefined) return;
    const taken = stored.heldNusd + stored.unbookedNusd;
    const least = stored.fundsNusd < balanceNusd ? stored.fundsNusd : balanceNusd;
    const isThere = least - taken >= amountNusd;
    expect(reply.result).toBe(alone && taken > 0n ? 'busy' : isThere ? 'reserved' : 'insufficient');
    if (reply.result === 'reserved') this.#truth.endReservation(wallet, { noteId, amountNusd, leaves });
  }

  /** Sends requests in one turn. What was there is judged for each after the ones before it. */
  async #redeem(steps: readonly Redeem[]): Promise<void> {
    const { now } = this.#stage.clock;
    const requests = steps.flatMap((step) => {
      const earlier = step.again === undefined ? undefined : newest(this.#sent, step.again);
      const sent = earlier ?? this.#send(step);
      const { right, holdId } = sent.request;
      if (step.delayed || (this.#closedUntil.get(holdId) ?? Number.POSITIVE_INFINITY) <= now) return [];
      return [
        { sent, request: { ...sent.request, generation: this.#rights.generationOf(right, sent.key, step.staleBy) } },
      ];
    });
    const calls = requests.map(
      ({ request }) =>
        (state: State) =>
          state.redeem(request),
    );
    const taken: (KeyAmount & { readonly holdId: string })[] = [];
    for (const [at, reply] of (await this.#drivers.together('redeem', calls)).entries()) {
      const sent = requests[at]?.sent;
      if (sent === undefined) continue;
      const { holdId, right, amountNusd } = sent.request;
      const { key } = sent;
      const budgetIds = this.#rights.budgetIdsOf(right, key);
      const available = availableIn(this.#before, { key, budgetIds }, monthOf(now), taken);
      const isKnown = this.#before?.holds.has(holdId) || taken.some((other) => other.holdId === holdId);
      if (reply?.result === 'admitted' && !isKnown) {
        const { heldNusd = amountNusd, month } = reply;
        Object.assign(sent, { month: sent.month ?? month, budgetIds });
        taken.push({ key, budgetIds, holdId, amountNusd: heldNusd });
        expect(heldNusd >= amountNusd && heldNusd <= available.walletNusd, 'held too little or too much').toBe(true);
        expect(amountNusd, 'admitted beyond the key').toBeLessThanOrEqual(available.keyNusd ?? amountNusd);
        for (const nusd of available.budgetsNusd) expect(amountNusd, 'beyond a budget').toBeLessThanOrEqual(nusd);
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

  #send(step: Redeem): Sent {
    const { right, key } = this.#rights.of(step.right);
    const amountNusd = BigInt(step.units) * this.#truth.unitNusd + BigInt(step.oddNusd);
    const roundedNusd = amountNusd + BigInt(step.rounding ?? 0) * this.#truth.unitNusd;
    const sent: Sent = {
      key,
      month: undefined,
      budgetIds: this.#rights.budgetIdsOf(right, key),
      request: {
        shard,
        right,
        holdId: this.#nextHoldId,
        amountNusd,
        roundedNusd: step.rounding === undefined || roundedNusd > maxNusd ? undefined : roundedNusd,
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
      const settlement = this.#settlements.get(holdId) ?? settlementFor(each, charge, tokens);
      this.#settlements.set(holdId, settlement);
      this.#closedUntil.set(holdId, this.#stage.clock.now + endedIsRememberedMs);
      return [settlement];
    });
    const calls = settlements.map((settlement) => async (state: State) => ({
      told: (await state.settle(settlement)) !== undefined,
    }));
    await this.#drivers.together('settle', calls);
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
