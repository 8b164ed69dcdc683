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

/** A pool on a clock of its own. Refills begin at `phase` of a period. */
function startPool({ size = 2, phase = 0.25, ttl = ttlMs } = {}) {
  let now = 10 * refillMs - 1;
  let planned: { readonly at: number; readonly callback: () => Promise<unknown> } | undefined;
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
    random: () => phase,
    schedule: (callback, ms) => {
      planned = { at: now + ms, callback };
    },
  });
  /** Moves the clock, with every refill on the way. */
  const until = async (time: number): Promise<void> => {
    while (planned !== undefined && planned.at <= time) {
      const { at, callback } = planned;
      planned = undefined;
      now = at;
      await callback();
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

/** Runs a warm pool through these periods. Returns what control saw in them. */
async function seenByControl(periods: readonly Period[], phase: number): Promise<readonly Mint[]> {
  const { until, take, mints, firstAt } = startPool({ size: 4, phase });
  await take();
  await take(otherChat);
  await until(firstAt);
  mints.splice(0);
  for (const [at, period] of periods.entries()) {
    const from = firstAt + at * refillMs;
    const requests = [
      ...period.chat.map((part) => ({ part, request: chat })),
      ...period.otherChat.map((part) => ({ part, request: otherChat })),
    ];
    for (const { part, request } of requests.toSorted((one, other) => one.part - other.part)) {
      await until(from + part * refillMs);
      expect((await take(request)).isFresh).toBe(false);
    }
    await until(from + refillMs);
  }
  return mints;
}

const part = fc.double({ min: 0, max: 0.999, noNaN: true });
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
      fc.asyncProperty(twoRuns, part, async ([one, other], phase) => {
        expect(await seenByControl(one, phase)).toEqual(await seenByControl(other, phase));
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

  it('have a phase that a client chooses at random', async () => {
    const firstRefill = async (phase: number): Promise<number> => {
      const { until, take, mints } = startPool({ phase });
      await take();
      await until(12 * refillMs);
      return (mints.at(-1)?.at ?? 0) % refillMs;
    };
    expect([await firstRefill(0.1), await firstRefill(0.9)]).toEqual([0.1 * refillMs, 0.9 * refillMs]);
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
    await until(firstAt);
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
