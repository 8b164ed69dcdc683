import { Cluster, type Redis } from 'ioredis';
import type { RedisConnection } from './connection.ts';

const recheckMs = 30_000;

/**
 * Whether Redis keeps what it has answered: money needs an append-only file that is written before the answer, and no
 * key evicted (design 5). Answers what is wrong, or undefined where nothing is, or where Redis does not let itself be
 * asked. Looks at most every 30 s.
 */
export class DurabilityCheck {
  readonly #connection: RedisConnection;
  readonly #now: () => number;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;

  constructor(connection: RedisConnection, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  async problem(): Promise<string | undefined> {
    if (this.#problem === undefined && this.#now() - this.#checkedAt < recheckMs) return undefined;
    const connection = this.#connection;
    const masters = connection instanceof Cluster ? connection.nodes('master') : [connection];
    const problems = await Promise.all(masters.map(problemOf));
    this.#checkedAt = this.#now();
    this.#problem = problems.find((problem) => problem !== undefined);
    return this.#problem;
  }
}

/** What each setting must be. */
const wanted: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
};

async function problemOf(redis: Redis): Promise<string | undefined> {
  for (const [name, value] of Object.entries(wanted)) {
    // A managed Redis may not show its settings: then its operator must know.
    const shown: unknown = await redis.config('GET', name).catch(() => undefined);
    const found = Array.isArray(shown) ? shown[1] : undefined;
    if (typeof found === 'string' && found !== value)
      return `Redis has \`${name} ${found}\`: it takes \`${name} ${value}\``;
  }
  return undefined;
}
