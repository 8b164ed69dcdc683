import { Cluster, type Redis } from 'ioredis';

const recheckMs = 30_000;

/** As much of a connection as is needed to look. */
export type Lookable = Pick<Redis, 'config' | 'options' | 'on'>;

/**
 * Whether Redis keeps what it has answered: money needs an append-only file that is written before the answer, and no
 * key evicted (design 5). Answers what is wrong, or undefined where nothing is, or where Redis does not let itself be
 * asked. Looks at most every 30 s while nothing is wrong; what was wrong is so until all have answered otherwise.
 */
export class DurabilityCheck {
  readonly #connection: Lookable | Cluster;
  readonly #now: () => number;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** Whom the last look was at. */
  #checked = '';
  #problem: string | undefined;

  constructor(connection: Lookable | Cluster, now: () => number) {
    this.#connection = connection;
    this.#now = now;
    // Who is reached anew may be another, or the same with other settings.
    connection.on('ready', () => {
      this.#checkedAt = Number.NEGATIVE_INFINITY;
    });
  }

  async problem(): Promise<string | undefined> {
    const connection = this.#connection;
    const masters = connection instanceof Cluster ? connection.nodes('master') : [connection];
    const addressed = masters.map(({ options: { host, port } }) => `${host}:${port}`).join();
    // A node that has become a master was none when the others were looked at.
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

async function lookAt(redis: Lookable): Promise<Look> {
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
