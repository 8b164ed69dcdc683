import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startOwnRedis, startTestPostgres, withRedis } from '@sotto/test-servers';
import { beforeAll, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { fromSource, programOf, runToEnd } from '../../kit/programs.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { catalogOf } from '../../kit/stage/models.ts';
import type { StageSpec } from '../../kit/stage/spec.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const spec: StageSpec = {
  providers: { alpha: { server: 'absent' }, beta: { server: 'absent', api_key_env: 'BETA_API_KEY' } },
  models: { 'm/one': { routes: { alpha: [1, 2] } } },
};
const key = (): string => randomBytes(32).toString('base64');
const secrets = { TICKET_SEALING_KEY: key(), SETTLEMENT_MAC_KEY: key(), ACCOUNT_REF_KEY: key(), SESSION_SECRET: key() };

const folder = useFolder('doctor');
let right: Record<string, string>;

/** Runs `sotto-control doctor` in a new process. Resolves to its exit code and its lines. */
async function doctor(environment: Record<string, string>) {
  const command = [...fromSource, programOf('apps/control/src/main.ts'), 'doctor'];
  const { code, out, error } = await runToEnd(process.execPath, command, root, environment);
  return { code, lines: `${out}\n${error}`.trim().split('\n') };
}

const wrongs = (lines: readonly string[]): string[] => lines.filter((line) => line.startsWith('WRONG'));

await describeStage(
  'sotto-control doctor',
  async ({ databaseUrl, redisUrl }) => {
    const catalogFile = join(folder, 'catalog.yaml');
    await writeFile(catalogFile, catalogOf(spec));
    right = { ...secrets, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, CATALOG_FILE: catalogFile };
    return spec;
  },
  (stage) => {
    beforeAll(() => {
      right.CONTROL_ORIGIN = new URL(stage.service.controlUrl).origin;
      right.CONFIDENTIAL_ORIGIN = new URL(stage.service.baseUrl).origin;
    });

    it('ends as the guides say', async () => {
      const [, promised] =
        /The doctor ends with `([^`]+)`/.exec(await readFile(join(root, 'docs/operate/compose.md'), 'utf8')) ?? [];
      expect((await doctor(right)).lines.at(-1)).toBe(promised);
    });

    it('finds nothing wrong with a healthy service', async () => {
      const { code, lines } = await doctor(right);
      expect(wrongs(lines)).toEqual([]);
      expect(code).toBe(0);
      for (const line of [
        /^ok {6}settings: no problems/,
        /^ok {6}Postgres: version \d+ answers/,
        /^ok {6}Postgres’ clock: agrees with ours/,
        /^ok {6}schema: is up to date/,
        /^ok {6}Redis: version \d+/,
        /^ok {6}Redis’ clock: agrees with ours/,
        /^ok {6}Redis’ memory: \d+ of \d+ MiB are used/,
        // Here both planes connect as the same Redis user, as they may in development.
        /^warning Redis’ users: brokers connect as `default`, which can read control’s keys$/,
        /Create a user with deploy\/redis\/acl-user\.sh and put it into the broker’s REDIS_URL/,
        /^ok {6}epochs: all 16 shards are open/,
        /^ok {6}registry: 2 providers/,
        /^ok {6}catalog: 1 model active/,
        /^ok {6}settlements: none are waiting/,
        /^ok {6}catalog file: .*: 1 model/,
        /^ok {6}control: is ready at/,
        /^ok {6}broker: is ready at/,
        /^no problems$/,
      ]) {
        expect(lines).toContainEqual(expect.stringMatching(line));
      }
    });

    it('names the missing key of a provider by its variable, if sotto.yaml has the registry or its file', async () => {
      const file = join(folder, 'sotto.yaml');
      await writeFile(join(folder, 'providers.yaml'), stage.files.registry);
      const found = async (text: string): Promise<string | undefined> => {
        await writeFile(file, text);
        const { lines } = await doctor({ ...right, CONFIG_FILE: file });
        return lines.find((line) => line.includes('provider keys'));
      };
      expect(await found('log: {level: info}\n')).toContain('`beta` has no key; set the variables');
      expect(await found('providers_file: providers.yaml\n')).toContain('`beta` has no key: set BETA_API_KEY');
      const inline = `providers:\n  ${JSON.stringify(JSON.parse(stage.files.registry).providers)}\n`;
      expect(await found(inline)).toContain('`beta` has no key: set BETA_API_KEY');
    });

    it('names a missing setting, as a start does', async () => {
      const { TICKET_SEALING_KEY: _, ...without } = right;
      expect(await doctor(without)).toEqual({
        code: 1,
        lines: ['sotto-control: TICKET_SEALING_KEY is not set: it takes 32 bytes as base64 or as 64 hex characters'],
      });
    });

    it('names each problem and its fix, and no password', async () => {
      const nobody = await freePort();
      const { code, lines } = await doctor({
        ...right,
        DATABASE_URL: 'postgresql://who:hunter2@127.0.0.1:9/none',
        REDIS_URL: 'redis://:hunter2@127.0.0.1:9',
        CATALOG_FILE: join(folder, 'none.yaml'),
        CONTROL_ORIGIN: `http://127.0.0.1:${nobody}`,
        CONFIDENTIAL_ORIGIN: new URL(stage.service.controlUrl).origin,
      });
      expect(code).toBe(1);
      expect(lines.join('\n')).not.toContain('hunter2');
      for (const line of [
        /^WRONG {3}Postgres: cannot be reached \(ECONNREFUSED\)/,
        /Check DATABASE_URL/,
        /^WRONG {3}Redis: cannot be reached \(ECONNREFUSED\)$/,
        /Check REDIS_URL/,
        /^WRONG {3}shared state: cannot be read/,
        /^WRONG {3}catalog file: cannot read .*none\.yaml/,
        /^WRONG {3}control: does not answer at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/,
        /^5 problems$/,
      ]) {
        expect(lines).toContainEqual(expect.stringMatching(line));
      }
    });

    it('reports a schema that is missing, behind, or ahead of this release', async () => {
      const postgres = await startTestPostgres();
      const bare = await doctor({ ...right, DATABASE_URL: await postgres.createEmptyDatabase() });
      await postgres.stop();
      expect(wrongs(bare.lines)).toEqual([expect.stringMatching(/schema: lacks 1 migration, from 0000_initial/)]);

      const { pool } = stage.service;
      const { rows } = await pool.query('select * from drizzle.__drizzle_migrations order by created_at desc limit 1');
      await pool.query('delete from drizzle.__drizzle_migrations where created_at = $1', [rows[0].created_at]);
      const behind = await doctor(right);
      expect(wrongs(behind.lines)).toEqual([expect.stringMatching(/schema: lacks 1 migration, /)]);
      await pool.query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2), ($3, $4)', [
        ...[rows[0].hash, rows[0].created_at],
        ...['of a later release', Number(rows[0].created_at) + 1e9],
      ]);
      const ahead = await doctor(right);
      expect(ahead.code).toBe(0);
      expect(ahead.lines).toContainEqual(expect.stringMatching(/^warning schema: is 1 migration newer/));
      await pool.query('delete from drizzle.__drizzle_migrations where created_at = $1', [
        Number(rows[0].created_at) + 1e9,
      ]);
    });

    it('reports a Redis that may lose data, and an empty one', async () => {
      const other = await startOwnRedis({ appendOnly: true });
      if (other === undefined) throw new Error('no second Redis');
      try {
        const empty = await doctor({ ...right, REDIS_URL: other.url });
        expect(wrongs(empty.lines)).toEqual([
          expect.stringMatching(/epochs: 16 of 16 shards are closed, waiting for 0 processes/),
          expect.stringMatching(/registry: no broker has published a registry/),
          expect.stringMatching(/catalog: no catalog is active/),
        ]);
        await withRedis(other.url, async (redis) => {
          await redis.config('SET', 'appendfsync', 'everysec');
          await redis.xadd('sotto:{w3}:stream', `${Date.now() - 600_000}-0`, 'p', 'payload', 'm', 'mac');
        });
        const forgetful = await doctor({ ...right, REDIS_URL: other.url, NODE_ENV: 'production' });
        expect(wrongs(forgetful.lines)).toContainEqual(
          'WRONG   settlements: 1 is waiting for the ledger, the oldest for 10 minutes',
        );
        expect(forgetful.lines).toContainEqual(expect.stringMatching(/Nothing is booked\. Check that control runs/));
        expect(wrongs(forgetful.lines)).toContainEqual(
          expect.stringMatching(/Redis’ durability: Redis has `appendfsync everysec`: it takes `appendfsync always`/),
        );
        const rights = ['resetpass', '>poor', '~*', '-@all', '+info', '+ping', '+time', '+client', '+config|get'];
        await withRedis(other.url, (redis) => redis.call('ACL', 'SETUSER', 'poor', 'on', ...rights));
        const poor = await doctor({ ...right, REDIS_URL: other.url.replace('redis://', 'redis://poor:poor@') });
        const denied = poor.lines.findIndex((line) => /^WRONG {3}shared state: cannot be read \(.*NOPERM\)/.test(line));
        expect(poor.lines[denied + 1], poor.lines.join('\n')).toMatch(/acl-user\.sh; `ACL LOG` names the command/);
        await withRedis(other.url, (redis) => redis.config('SET', 'requirepass', 'hunter2'));
        const locked = await doctor({ ...right, REDIS_URL: other.url });
        expect(locked.lines).toContainEqual(expect.stringMatching(/^WRONG {3}Redis: rejects .* \(NOAUTH\)$/));
        expect(locked.lines).toContainEqual(expect.stringMatching(/Put a password into REDIS_URL/));
      } finally {
        await other.stop();
      }
    });

    it('recommends settings that a public service should have', async () => {
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
  },
  { planes: ['two'] },
);
