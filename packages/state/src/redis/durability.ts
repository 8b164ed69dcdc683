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
    // Who is reached anew may be another, or the same with other settings.
    connection.on('ready', () => {
      this.#checkedAt = Number.NEGATIVE_INFINITY;
    });
  }

  async problem(): Promise<string | undefined> {
    if (this.#problem === undefined && this.#now() - this.#checkedAt < recheckMs) return undefined;
    const connection = this.#connection;
    const masters = connection instanceof Cluster ? connection.nodes('master') : [connection];
    const looks = await Promise.all(masters.map(lookAt));
    if (looks.every(({ answered }) => answered)) this.#checkedAt = this.#now();
    this.#problem = looks.find(({ problem }) => problem !== undefined)?.problem;
    return this.#problem;
  }
}

/** What each setting must be. */
const wanted: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
};

interface Look {
  /** False where the server is away: what it keeps is not known. */
  readonly answered: boolean;
  readonly problem?: string;
}

async function lookAt(redis: Redis): Promise<Look> {
  for (const [name, value] of Object.entries(wanted)) {
    let shown: unknown;
    try {
      shown = await redis.config('GET', name);
    } catch (error) {
      // A managed Redis may not show its settings: then its operator must know.
      return { answered: error instanceof Error && error.name === 'ReplyError' };
    }
    const found = Array.isArray(shown) ? shown[1] : undefined;
    if (typeof found === 'string' && found !== value)
      return { answered: true, problem: `Redis has \`${name} ${found}\`: it takes \`${name} ${value}\`` };
  }
  return { answered: true };
}
