import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withRedis } from '@sotto/test-servers';
import { Redis } from 'ioredis';
import { monitorRedis } from '../../kit/redis-wire.ts';
import type { Service } from '../../kit/service.ts';

/** The content of each sink, as one text. */
export interface Sinks {
  /** Control's stdout and stderr. */
  readonly controlLog: string;
  /** The broker's output, and every line that cannot be told apart from it. */
  readonly brokerLog: string;
  /** Every row of every table. */
  readonly postgres: string;
  /** Every key and value that is in Redis now, and every command that it received. */
  readonly redis: string;
  /** Every body and header of the errors that clients received. */
  readonly errors: string;
}

export interface RedisEar {
  /** Every command since the listener was opened, with its arguments. It includes commands within scripts. */
  readonly heard: () => string;
  close(): void;
}

/** Records every command to a Redis. Streams are trimmed and keys expire before a later search could read them. */
export async function listenToRedis(url: string): Promise<RedisEar> {
  const heard: string[] = [];
  const monitor = await monitorRedis(url, ({ words }) => heard.push(words.join('\n')));
  return { heard: () => heard.join('\n'), close: () => monitor.close() };
}

export async function readSinks(
  service: Pick<Service, 'logs' | 'pool' | 'redisUrl'>,
  { ear, errors }: { readonly ear: RedisEar; readonly errors: readonly string[] },
): Promise<Sinks> {
  const lines = service.logs().split('\n');
  const isControl = (line: string): boolean => line.startsWith('{') && line.includes('"process":"control"');
  return {
    controlLog: lines.filter(isControl).join('\n'),
    brokerLog: lines.filter((line) => !isControl(line)).join('\n'),
    postgres: await readPostgres(service),
    redis: `${await readRedis(service.redisUrl ?? '')}\n${ear.heard()}`,
    errors: errors.join('\n'),
  };
}

/** Every write to a Redis, as stored in its append-only file. Empty if it does not write one. */
export async function readAppendOnlyFile(url: string): Promise<string> {
  return withRedis(url, async (redis) => {
    const setting = async (name: string): Promise<string> => String(((await redis.config('GET', name)) as string[])[1]);
    if ((await setting('appendonly')) !== 'yes') return '';
    const folder = join(await setting('dir'), await setting('appenddirname'));
    return readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'latin1'))
      .join('\n');
  });
}

async function readPostgres({ pool }: Pick<Service, 'pool'>): Promise<string> {
  const tables = await pool.query<{ schema: string; name: string }>(
    "select schemaname as schema, tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
  );
  const texts: string[] = [];
  for (const { schema, name } of tables.rows) {
    const { rows } = await pool.query<{ row: string }>(`select t::text as row from "${schema}"."${name}" t`);
    texts.push(`${name}: ${rows.length}`, ...rows.map(({ row }) => row));
  }
  return texts.join('\n');
}

/** Every key and value that is in a Redis now. */
export async function readRedis(url: string): Promise<string> {
  const redis = new Redis(url);
  try {
    const texts: string[] = [];
    for (const key of await redis.keys('*')) {
      const read: Record<string, () => Promise<unknown>> = {
        string: () => redis.get(key),
        hash: () => redis.hgetall(key),
        list: () => redis.lrange(key, '0', '-1'),
        set: () => redis.smembers(key),
        zset: () => redis.zrange(key, '0', '-1', 'WITHSCORES'),
        stream: () => redis.xrange(key, '-', '+'),
        // The key expired between the two commands.
        none: async () => '',
      };
      const type = await redis.type(key);
      const value = await read[type]?.();
      if (value === undefined) throw new Error(`a Redis value of type ${type}`);
      texts.push(key, flat(value));
    }
    return texts.join('\n');
  } finally {
    redis.disconnect();
  }
}

const flat = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? Object.entries(value)
        .map(([name, inner]) => `${name} ${flat(inner)}`)
        .join('\n')
    : String(value);
