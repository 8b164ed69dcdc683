import { createMemoryState, createRedisState, MemoryStore, type State } from '@sotto/state';
import { startOwnRedis, startTestRedis, type TestRedis } from '@sotto/test-servers';
import { untilReachable } from './fixtures.ts';

/** A driver of the state under test. */
export interface Driver {
  readonly state: State;
  /** The same state, opened by another process. */
  readonly other: State;
  /** Moves the clock for rate limits and holds. Tickets in Redis expire by the real clock. */
  advance(byMs: number): void;
  now(): number;
  /** Sets the clock, which then goes on. */
  moveTo(ms: number): void;
  /** Forgets everything, the epoch included, and moves the clock to the beginning of a minute. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export const drivers: readonly { readonly name: string; start(): Promise<Driver | undefined> }[] = [
  { name: 'memory', start: async () => memoryDriver() },
  { name: 'Redis', start: async () => redisDriver(await startTestRedis()) },
  { name: 'Redis Cluster', start: async () => redisDriver(await startOwnRedis({ cluster: true })) },
];

function memoryDriver(): Driver {
  const clock = movableClock();
  let store = new MemoryStore(clock.now);
  let [state, other] = [createMemoryState({ store }), createMemoryState({ store })];
  return {
    advance: clock.advance,
    moveTo: clock.moveTo,
    now: clock.now,
    get state() {
      return state;
    },
    get other() {
      return other;
    },
    async reset() {
      clock.toNextMinute();
      store = new MemoryStore(clock.now);
      [state, other] = [createMemoryState({ store }), createMemoryState({ store })];
    },
    async stop() {},
  };
}

async function redisDriver(server: TestRedis | undefined): Promise<Driver | undefined> {
  if (server === undefined) return undefined;
  const { url } = server;
  const clock = movableClock();
  const open = async (): Promise<State> => {
    const state = createRedisState({ url, clock: clock.now });
    await untilReachable(state);
    return state;
  };
  let [state, other] = [await open(), await open()];
  return {
    get state() {
      return state;
    },
    get other() {
      return other;
    },
    advance: clock.advance,
    moveTo: clock.moveTo,
    now: clock.now,
    async reset() {
      clock.toNextMinute();
      await server.flush();
      await Promise.all([state.close(), other.close()]);
      [state, other] = [await open(), await open()];
    },
    async stop() {
      await Promise.all([state.close(), other.close()]);
      await server.stop();
    },
  };
}

const minuteMs = 60_000;

/** The real clock, plus an offset that tests increase. */
function movableClock(): {
  now(): number;
  advance(byMs: number): void;
  moveTo(ms: number): void;
  toNextMinute(): void;
} {
  let aheadMs = 0;
  const now = (): number => Date.now() + aheadMs;
  return {
    now,
    advance(byMs) {
      aheadMs += byMs;
    },
    moveTo(ms) {
      aheadMs = ms - Date.now();
    },
    toNextMinute() {
      aheadMs += minuteMs - (now() % minuteMs);
    },
  };
}
