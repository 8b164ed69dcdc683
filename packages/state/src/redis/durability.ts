import { Cluster, type Redis } from 'ioredis';

const recheckMs = 30_000;

/** The part of a connection that the check needs. */
export type Lookable = Pick<Redis, 'config' | 'options' | 'on'>;

/**
 * Checks that Redis is durable. Money needs an append-only file that is written before the answer, and no eviction of keys. Returns
 * the problem. Returns undefined if there is none or if Redis hides its settings. Checks at most every 30 s while there is no
 * problem. A problem remains until all servers have answered without one.
 */
export class DurabilityCheck {
  readonly #connection: Lookable | Cluster;
  readonly #now: () => number;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** The servers of the last check. */
  #checked = '';
  #problem: string | undefined;

  constructor(connection: Lookable | Cluster, now: () => number) {
    this.#connection = connection;
    this.#now = now;
    // A new connection may lead to another server, or to the same one with other settings.
    connection.on('ready', () => {
      this.#checkedAt = Number.NEGATIVE_INFINITY;
    });
  }

  async problem(): Promise<string | undefined> {
    const connection = this.#connection;
    const masters = connection instanceof Cluster ? connection.nodes('master') : [connection];
    const addressed = masters.map(({ options: { host, port } }) => `${host}:${port}`).join();
    // A node that became a master later was not checked with the others.
    const isFresh = addressed === this.#checked && this.#now() - this.#checkedAt < recheckMs;
    if (this.#problem === undefined && isFresh) return undefined;
    const looks = await Promise.all(masters.map(lookAt));
    const found = looks.find(({ problem }) => problem !== undefined)?.problem;
    const isWhole = looks.length > 0 && looks.every(({ answered }) => answered);
    if (found !== undefined || isWhole) this.#problem = found;
    if (isWhole) [this.#checkedAt, this.#checked] = [this.#now(), addressed];
    return this.#problem;
  }
}

/** Required values of the settings. */
const wanted: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
};

interface Look {
  /** False if the server is unavailable, so that its settings are unknown. */
  readonly answered: boolean;
  readonly problem?: string;
}

async function lookAt(redis: Lookable): Promise<Look> {
  for (const [name, value] of Object.entries(wanted)) {
    let shown: unknown;
    try {
      shown = await redis.config('GET', name);
    } catch (error) {
      // A managed Redis may hide its settings. Then its operator is responsible.
      return { answered: error instanceof Error && error.name === 'ReplyError' };
    }
    const found = Array.isArray(shown) ? shown[1] : undefined;
    if (typeof found === 'string' && found !== value)
      return { answered: true, problem: `Redis has \`${name} ${found}\`: it takes \`${name} ${value}\`` };
  }
  return { answered: true };
}
