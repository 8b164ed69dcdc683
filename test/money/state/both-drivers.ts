import type { MemoryStore, State } from '@sotto/state';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { kindOf, outcome } from './fixtures.ts';

/** The shard of every history. */
export const shard = 3;

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

/** The Redis driver and the memory driver, side by side. */
export class BothDrivers {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Asks both drivers. Their answers must be equal. */
  async both<T>(name: string, call: (state: State) => Promise<T>): Promise<T | undefined> {
    const [answer] = await this.together(name, [call]);
    return answer;
  }

  /** Asks Redis for everything in one turn, and memory for one after the other. Their answers must be equal. */
  async together<T>(name: string, calls: readonly ((state: State) => Promise<T>)[]): Promise<(T | undefined)[]> {
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
}

/** Returns an item of a list by its place from the end. */
export const newest = <T>(list: readonly T[], place: number): T | undefined =>
  list.at(-1 - (place % Math.max(1, list.length)));
