import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { fromSource } from '../../kit/from-source.ts';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { redisSkipReason, startOwnRedis, startTestRedis, type TestRedis } from '../../kit/redis.ts';
import { type Service, startService } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const registry = `providers:
  - {id: acme, name: Acme, adapter: openai, base_url: "http://127.0.0.1:9/v1", privacy_class: private}
`;
const catalog = `models:
  - id: acme/small
    model_type: text
    context_length: 8000
    max_output_tokens: 1000
    routes: [{provider: acme, upstream_model: small, privacy_class: private, pricing: {input: 1, output: 2}}]
`;
const key = (): string => randomBytes(32).toString('base64');
const secrets = { TICKET_SEALING_KEY: key(), SETTLEMENT_MAC_KEY: key(), ACCOUNT_REF_KEY: key(), SESSION_SECRET: key() };

let redis: TestRedis | undefined;
let postgres: TestPostgres;
let databaseUrl: string;
let service: Service;
let folder: string;
let right: Record<string, string>;

beforeAll(async () => {
  redis = await startTestRedis();
  if (redis === undefined) return noteSkip('sotto-control doctor', redisSkipReason);
  postgres = await startTestPostgres();
  databaseUrl = await postgres.createDatabase();
  folder = await mkdtemp(join(tmpdir(), 'sotto-doctor-'));
  await writeFile(join(folder, 'catalog.yaml'), catalog);
  service = await startService({ planes: 'two', databaseUrl, redisUrl: redis.url, registry, catalog });
  right = {
    ...secrets,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    CATALOG_FILE: join(folder, 'catalog.yaml'),
    CONTROL_ORIGIN: new URL(service.controlUrl).origin,
    CONFIDENTIAL_ORIGIN: new URL(service.baseUrl).origin,
  };
});
afterAll(async () => {
  await service?.stop();
  await redis?.stop();
  await postgres?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

/** Runs `sotto-control doctor` as a process of its own; resolves to its exit code and its lines. */
function doctor(environment: Record<string, string>): Promise<{ readonly code: number; readonly lines: string[] }> {
  const command = [...fromSource, 'apps/control/src/main.ts'];
  const options = { cwd: root, env: { PATH: process.env.PATH ?? '', ...environment } };
  return new Promise((resolve) => {
    execFile(process.execPath, [...command, 'doctor'], options, (failure, out, error) => {
      const code = typeof failure?.code === 'number' ? failure.code : 0;
      resolve({ code, lines: `${out}${error}`.trim().split('\n') });
    });
  });
}

const wrongs = (lines: readonly string[]): string[] => lines.filter((line) => line.startsWith('WRONG'));

it('finds nothing wrong with a service that stands as it should', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { code, lines } = await doctor(right);
  expect(wrongs(lines)).toEqual([]);
  expect(code).toBe(0);
  for (const line of [
    /^ok {6}settings: nothing to remark/,
    /^ok {6}Postgres: version \d+ answers/,
    /^ok {6}Postgres’ clock: agrees with ours/,
    /^ok {6}schema: is up to date/,
    /^ok {6}Redis: version \d+/,
    /^ok {6}Redis’ clock: agrees with ours/,
    // Here both planes are one user of it, as they may be in development.
    /^warning Redis’ users: brokers connect as `default`, which can read control’s keys$/,
    /Make a user with deploy\/redis\/acl-user\.sh and put it into the broker’s REDIS_URL/,
    /^ok {6}epochs: all 16 shards are open/,
    /^ok {6}registry: 1 providers/,
    /^ok {6}catalog: 1 models in force/,
    /^ok {6}settlements: none waits/,
    /^ok {6}catalog file: .*: 1 models/,
    /^ok {6}control: is ready at/,
    /^ok {6}broker: is ready at/,
    /^nothing is wrong$/,
  ]) {
    expect(lines).toContainEqual(expect.stringMatching(line));
  }
});

it('names a setting that is missing, as a start does', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { TICKET_SEALING_KEY: _, ...without } = right;
  expect(await doctor(without)).toEqual({
    code: 1,
    lines: ['sotto-control: TICKET_SEALING_KEY is not set: it takes 32 bytes as base64 or as 64 hex characters'],
  });
});

it('says what is wrong and what to do, and no password', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const nobody = await freePort();
  const { code, lines } = await doctor({
    ...right,
    DATABASE_URL: 'postgresql://who:hunter2@127.0.0.1:9/none',
    REDIS_URL: 'redis://:hunter2@127.0.0.1:9',
    CATALOG_FILE: join(folder, 'none.yaml'),
    CONTROL_ORIGIN: `http://127.0.0.1:${nobody}`,
    CONFIDENTIAL_ORIGIN: new URL(service.controlUrl).origin,
  });
  expect(code).toBe(1);
  expect(lines.join('\n')).not.toContain('hunter2');
  for (const line of [
    /^WRONG {3}Postgres: cannot be reached \(ECONNREFUSED\)/,
    /Check DATABASE_URL/,
    /^WRONG {3}Redis: cannot be reached/,
    /Check REDIS_URL/,
    /^WRONG {3}shared state: cannot be read/,
    /^WRONG {3}catalog file: .*none\.yaml cannot be read/,
    /^WRONG {3}control: does not answer at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/,
    /^5 things are wrong$/,
  ]) {
    expect(lines).toContainEqual(expect.stringMatching(line));
  }
});

it('tells a schema that is missing, behind, or ahead of this release', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const empty = await postgres.createDatabase();
  const bare = await doctor({ ...right, DATABASE_URL: empty });
  expect(wrongs(bare.lines)).toEqual([expect.stringMatching(/schema: \d+ migrations are missing, from 0000_initial/)]);

  const pool = new pg.Client({ connectionString: databaseUrl });
  await pool.connect();
  const { rows } = await pool.query('select * from drizzle.__drizzle_migrations order by created_at desc limit 1');
  await pool.query('delete from drizzle.__drizzle_migrations where created_at = $1', [rows[0].created_at]);
  const behind = await doctor(right);
  expect(wrongs(behind.lines)).toEqual([expect.stringMatching(/schema: 1 migrations are missing/)]);
  await pool.query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2), ($3, $4)', [
    ...[rows[0].hash, rows[0].created_at],
    ...['of a later release', Number(rows[0].created_at) + 1e9],
  ]);
  const ahead = await doctor(right);
  expect(ahead.code).toBe(0);
  expect(ahead.lines).toContainEqual(expect.stringMatching(/^warning schema: is 1 migrations newer/));
  await pool.query('delete from drizzle.__drizzle_migrations where created_at = $1', [
    Number(rows[0].created_at) + 1e9,
  ]);
  await pool.end();
});

it('tells a Redis that may forget, and one that nobody has filled', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const other = await startOwnRedis({ appendOnly: true });
  if (other === undefined) throw new Error('no second Redis');
  try {
    const empty = await doctor({ ...right, REDIS_URL: other.url });
    expect(wrongs(empty.lines)).toEqual([
      expect.stringMatching(/epochs: 16 of 16 shards are closed, with 0 processes/),
      expect.stringMatching(/registry: no broker has published one/),
      expect.stringMatching(/catalog: none is in force/),
    ]);
    const client = new Redis(other.url);
    await client.config('SET', 'appendfsync', 'everysec');
    await client.quit();
    const forgetful = await doctor({ ...right, REDIS_URL: other.url, NODE_ENV: 'production' });
    expect(wrongs(forgetful.lines)).toContainEqual(
      expect.stringMatching(/Redis’ durability: Redis has `appendfsync everysec`: it takes `appendfsync always`/),
    );
  } finally {
    await other.stop();
  }
});

it('remarks what a public service should have', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { code, lines } = await doctor({ ...right, CONTROL_ORIGIN: 'http://router.invalid' });
  expect(code).toBe(1);
  const remarks = lines.filter((line) => line.startsWith('warning settings'));
  expect(remarks.map((line) => line.slice('warning settings: '.length))).toEqual([
    'NODE_ENV is not production',
    'an origin begins with http:',
    'TRUST_PROXY is off',
    'SMTP_URL is not set',
    'METRICS_PORT is off',
  ]);
});
