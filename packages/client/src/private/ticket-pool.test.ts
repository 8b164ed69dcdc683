import type { TicketRequest } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refillMs, type TakenTicket, TicketPool } from './ticket-pool.ts';

const ttlMs = 300_000;
const chat: TicketRequest = { operation: 'chat', model: 'acme/small' };
const otherChat: TicketRequest = { operation: 'chat', model: 'acme/large' };

/** A call for tickets, as control sees it. */
interface Mint {
  readonly at: number;
  readonly model: string | undefined;
  readonly count: number;
}

/** A pool on a clock of its own. The refills of its first kind begin at `phase` of a period, those of the second at `otherPhase`. */
function startPool({ size = 2, phase = 0.25, otherPhase = 0.75, ttl = ttlMs } = {}) {
  let now = 10 * refillMs - 1;
  const phases = [phase, otherPhase];
  const planned: { readonly at: number; readonly callback: () => Promise<unknown> }[] = [];
  let refuses = false;
  const mints: Mint[] = [];
  let minted = 0;
  const ticket = () => {
    minted += 1;
    return { ticket: `t${minted}`, privacyClass: undefined, expiresAt: now + ttl };
  };
  const mint = async ({ model }: TicketRequest, count: number) => {
    mints.push({ at: now, model, count });
    return refuses ? new Response('', { status: 429 }) : Array.from({ length: count }, ticket);
  };
  const pool = new TicketPool({
    mint: async (request) => {
      const answer = await mint(request, 1);
      return answer instanceof Response ? answer : (answer[0] ?? expect.unreachable());
    },
    mintSeveral: mint,
    now: () => now,
    size,
    random: () => phases.shift() ?? phase,
    schedule: (callback, ms) => void planned.push({ at: now + ms, callback }),
  });
  /** Moves the clock, with every refill on the way. */
  const until = async (time: number): Promise<void> => {
    for (;;) {
      planned.sort((one, other) => other.at - one.at);
      const next = planned.at(-1);
      if (next === undefined || next.at > time) break;
      planned.pop();
      now = next.at;
      await next.callback();
    }
    now = time;
  };
  const take = async (request = chat): Promise<TakenTicket> => {
    const taken = await pool.take(request);
    return taken instanceof Response ? expect.unreachable(`refused with ${taken.status}`) : taken;
  };
  return {
    ...{ pool, mints, until, take },
    /** The first time of a refill after the start. */
    firstAt: 10 * refillMs + phase * refillMs,
    refuse: (on: boolean) => {
      refuses = on;
    },
  };
}

/** When requests of each kind run in one period, as parts of it. */
interface Period {
  readonly chat: readonly number[];
  readonly otherChat: readonly number[];
}

/** Runs a warm pool through these periods. A period of a kind ends with its refill. Returns what control saw in them. */
async function seenByControl(periods: readonly Period[], phase: number, otherPhase: number): Promise<readonly Mint[]> {
  const { until, take, mints, firstAt } = startPool({ size: 4, phase, otherPhase });
  const starts = { chat: firstAt, otherChat: (10 + otherPhase) * refillMs };
  await take();
  await take(otherChat);
  await until(Math.max(starts.chat, starts.otherChat));
  mints.splice(0);
  const asked = periods.flatMap((period, at) =>
    (['chat', 'otherChat'] as const).flatMap((kind) =>
      // The first refill of both kinds lies within one period.
      period[kind].map((part) => ({ time: starts[kind] + (at + 1 + part) * refillMs, kind })),
    ),
  );
  for (const { time, kind } of asked.toSorted((one, other) => one.time - other.time)) {
    await until(time);
    await take(kind === 'chat' ? chat : otherChat);
  }
  await until(firstAt + (periods.length + 2) * refillMs);
  const seen = mints.map(({ at, ...mint }) => ({ ...mint, at: Math.round(at) }));
  // Two phases may be equal here. Those of a client have no order.
  return seen.toSorted((one, other) => one.at - other.at || `${one.model}`.localeCompare(`${other.model}`));
}

const part = fc.double({ min: 0.001, max: 0.999, noNaN: true });
const times = (count: number) => fc.array(part, { minLength: count, maxLength: count });
/** Two runs with as many requests of each kind in each period, at independent times. */
const twoRuns = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })), { minLength: 1, maxLength: 5 })
  .chain((counts) => {
    const run = fc.tuple(
      ...counts.map(([chats, others]) => fc.record({ chat: times(chats), otherChat: times(others) })),
    );
    return fc.tuple(run, run);
  });

describe('the times at which a client gets tickets', () => {
  it('do not depend on when or in which order its requests run within a period', async () => {
    await fc.assert(
      fc.asyncProperty(twoRuns, part, part, async ([one, other], phase, otherPhase) => {
        const seen = await seenByControl(one, phase, otherPhase);
        expect(seen).toEqual(await seenByControl(other, phase, otherPhase));
        expect(new Set(seen.map(({ at }) => at % refillMs)).size).toBeLessThanOrEqual(2);
      }),
      { numRuns: 100 },
    );
  });

  it('tell the time of a request no better than a guess within the period', async () => {
    const { until, take, mints, firstAt } = startPool();
    await take();
    await until(firstAt);
    const distances: number[] = [];
    // A sequence whose parts are spread evenly, in an order that no period repeats.
    for (let each = 0; each < 200; each += 1) {
      const at = firstAt + each * refillMs + ((each * 0.618_034) % 1) * refillMs;
      await until(at);
      await take();
      await until(firstAt + (each + 1) * refillMs);
      distances.push((mints.at(-1)?.at ?? 0) - at);
    }
    const mean = distances.reduce((sum, each) => sum + each, 0) / distances.length;
    const variance = distances.reduce((sum, each) => sum + (each - mean) ** 2, 0) / distances.length;
    // The error of the best constant that could be subtracted from the time of a refill. A uniform guess has a period / √12.
    expect(Math.sqrt(variance)).toBeGreaterThan((0.95 * refillMs) / Math.sqrt(12));
  });

  // Were both kinds refilled at once, control would see that a conversation went from one to the other.
  it('have a phase for each kind that a client chooses at random', async () => {
    const { until, take, mints } = startPool({ phase: 0.1, otherPhase: 0.9 });
    await take();
    await take(otherChat);
    mints.splice(0);
    await until(11 * refillMs);
    expect(mints.map(({ at, model }) => [model, at % refillMs])).toEqual([
      [chat.model, 0.1 * refillMs],
      [otherChat.model, 0.9 * refillMs],
    ]);
  });
});

describe('the pool', () => {
  it('mints at once for a request that finds no ticket: the first one, and those above the number that it keeps', async () => {
    const { until, take, mints, firstAt } = startPool();
    expect((await take()).isFresh).toBe(true);
    await until(firstAt);
    const taken = [await take(), await take(), await take(), await take()];
    expect(taken.map(({ isFresh }) => isFresh)).toEqual([false, false, true, true]);
    expect(mints.map(({ count }) => count)).toEqual([1, 2, 1, 1]);
    expect(new Set(taken.map(({ ticket }) => ticket)).size).toBe(4);
  });

  it('keeps as many as ran in the last period, but not without end', async () => {
    const { until, take, mints, firstAt } = startPool();
    for (let each = 0; each < 20; each += 1) await take();
    await until(firstAt);
    expect(mints.slice(20).map(({ count }) => count)).toEqual([16, 4]);
    for (let each = 0; each < 100; each += 1) await take();
    mints.splice(0);
    await until(firstAt + refillMs);
    expect(mints.map(({ count }) => count)).toEqual([16, 16, 16, 16]);
  });

  it('gives out concurrent requests different tickets, also while it refills', async () => {
    const { until, take, firstAt } = startPool();
    await take();
    await until(firstAt);
    const filling = until(firstAt + refillMs);
    const taken = await Promise.all([take(), take(), take(), filling.then(() => take())]);
    expect(new Set(taken.map(({ ticket }) => ticket)).size).toBe(4);
  });

  it('asks control for nothing while no request uses it', async () => {
    const { until, take, mints, firstAt } = startPool();
    await take();
    await until(firstAt);
    mints.splice(0);
    await until(firstAt + 100 * refillMs);
    expect(mints).toEqual([]);
    // Its tickets have expired meanwhile.
    expect((await take()).isFresh).toBe(true);
  });

  it('replaces tickets that would expire before the next refill', async () => {
    const { until, take, mints, firstAt } = startPool();
    await take();
    for (let period = 0; period < 20; period += 1) {
      await until(firstAt + period * refillMs + 1);
      expect((await take()).isFresh, `period ${period}`).toBe(false);
    }
    expect(mints).toHaveLength(21);
  });

  it('never gives out a ticket that is about to expire', async () => {
    const { until, take, firstAt } = startPool({ ttl: 60_000 });
    await take();
    await until(firstAt);
    await until(firstAt + 45_000);
    expect((await take()).isFresh).toBe(true);
  });

  it('goes on after a refill that control refused', async () => {
    const { until, take, refuse, firstAt } = startPool();
    await take();
    refuse(true);
    await until(firstAt);
    refuse(false);
    expect((await take()).isFresh).toBe(true);
    await until(firstAt + refillMs);
    expect((await take()).isFresh).toBe(false);
  });

  it('forgets the tickets of a kind that was refused, and no others', async () => {
    const { pool, until, take, firstAt } = startPool();
    await take();
    await take(otherChat);
    // Past the refills of both.
    await until(firstAt + refillMs / 2);
    pool.drop(chat);
    expect((await take()).isFresh).toBe(true);
    expect((await take(otherChat)).isFresh).toBe(false);
  });

  it('of no tickets keeps none', async () => {
    const { until, take, mints, firstAt } = startPool({ size: 0 });
    await take();
    await until(firstAt + refillMs);
    expect(mints).toHaveLength(1);
  });
});
