import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestPostgres, startTestRedis } from '@sotto/test-servers';
import { afterAll, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { endAll, freePorts, npmStart, root } from '../../kit/npm-start.ts';
import { runToEnd } from '../../kit/programs.ts';

const folder = useFolder('beside-start');
const ports = await freePorts();
const redis = await startTestRedis();
afterAll(endAll);

it.skipIf(redis === undefined)(
  'npm start with your own Postgres and Redis gives commands the settings that they need',
  async () => {
    const postgres = await startTestPostgres();
    const [file, ownData] = [join(folder, 'sotto.yaml'), join(folder, 'data')];
    const [databaseUrl, another] = [await postgres.createEmptyDatabase(), await postgres.createEmptyDatabase()];
    await writeFile(join(folder, 'database-url'), databaseUrl);
    await writeFile(join(folder, 'redis-url'), redis?.url ?? '');
    await writeFile(
      file,
      `control: {port: ${ports.CONTROL_PORT}}
broker: {port: ${ports.CONFIDENTIAL_PORT}}
data: {dir: data, database_url: file:database-url, redis_url: file:redis-url}
drain: {delay_s: 1}
`,
    );
    const started = await npmStart(ownData, { CONFIG_FILE: file });
    expect(started.output()).toContain('warning: `drain.delay_s` is set, but `npm start` does not read it');
    const shown = await readFile(join(ownData, 'control.json'), 'utf8');
    for (const url of [databaseUrl, redis?.url ?? '']) expect(shown).not.toContain(url);
    const control = (environment: Record<string, string>, ...args: readonly string[]) =>
      runToEnd(process.execPath, ['scripts/run.mjs', 'control', ...args], root, environment);
    for (const environment of [
      { CONFIG_FILE: file },
      { SOTTO_DATA_DIR: ownData },
      { SOTTO_DATA_DIR: ownData, DATABASE_URL: databaseUrl },
    ]) {
      const created = await control(environment, 'account', 'create', '--name', 'robots');
      expect((await control(environment, 'account', 'list')).out).toContain(created.out);
      const { out, error } = await control(environment, 'doctor');
      expect(out, error).toMatch(/^ok {6}broker: is ready at http:/m);
      // This Redis is for tests. It may be the only problem.
      expect(out.split('\n').filter((line) => /^WRONG(?!.*redis)/i.test(line))).toEqual([]);
    }
    // The keys of this service are not for the database of another.
    expect(await control({ SOTTO_DATA_DIR: ownData, DATABASE_URL: another }, 'doctor')).toMatchObject({
      ...{ code: 1, out: '' },
      error: expect.stringMatching(/(_KEY|SESSION_SECRET|REDIS_URL) is not set/),
    });
    await started.end('SIGTERM');
    const without = await control({ SOTTO_DATA_DIR: ownData }, 'account', 'list');
    expect(without.error).toContain('`npm start` does not run here');
    await postgres.stop();
    await redis?.stop();
  },
);
