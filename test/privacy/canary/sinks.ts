import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { withRedis } from '../../kit/redis-connection.ts';
import { monitorRedis } from '../../kit/redis-monitor.ts';
import type { Service } from '../../kit/service.ts';

/** Everything that a sink holds, as one text. */
export interface Sinks {
  /** What control wrote to stdout and stderr. */
  readonly controlLog: string;
  /** What the broker wrote, and every line that cannot be told from its. */
  readonly brokerLog: string;
  /** Every row of every table. */
  readonly postgres: string;
  /** Every key and value that is in Redis now, and every command that was sent to it. */
  readonly redis: string;
  /** Every body and header that clients got, where it was an error. */
  readonly errors: string;
}

export interface RedisEar {
  /** Every command since it was opened, with its arguments, those within scripts included. */
  readonly heard: () => string;
  close(): void;
}

/** Listens to all that is sent to a Redis: streams are trimmed and keys expire before anyone could look. */
export async function listenToRedis(url: string): Promise<RedisEar> {
  const heard: string[] = [];
  const monitor = await monitorRedis(url, ({ words }) => heard.push(words.join('\n')));
  return { heard: () => heard.join('\n'), close: () => monitor.close() };
}

export async function readSinks(
  service: Service,
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

/** Every command that changed a Redis, as it lies on its disk; empty where it writes none. */
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

async function readPostgres({ pool }: Service): Promise<string> {
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
        // It went between the two commands.
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
