import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, noteSkip, redisSkipReason, startOwnRedis, startTestPostgres, withRedis } from '@sotto/test-servers';
import { afterEach, expect, it } from 'vitest';
import { oneModel } from '../../kit/catalog.ts';
import { bearer } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { startOwnPostgres } from '../../kit/postgres.ts';
import { fromSource, programOf, runToEnd } from '../../kit/programs.ts';
import { answerChat, startProvider } from '../../kit/provider.ts';
import { post } from '../../kit/send.ts';
import { type Service, type ServiceOptions, startService, type TestAccount, until } from '../../kit/service.ts';
import { mountSmallDisk } from '../../kit/small-disk.ts';

/** A line of a plane's log. */
interface Line {
  readonly process: 'control' | 'confidential';
  readonly msg: string;
  readonly task?: string;
  readonly cause?: string;
  readonly reason?: string;
  readonly repeats?: number;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = useFolder('causes');
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const linesOf = (service: Service): Line[] =>
  service
    .logs()
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));

/** Starts the service on its own Redis, with its metrics. Undefined without Redis. */
async function start(options: Pick<ServiceOptions, 'databaseUrl'>) {
  const aclFile = join(folder, `${randomBytes(4).toString('hex')}.acl`);
  writeFileSync(aclFile, 'user default on nopass ~* &* +@all\nuser planes on >right ~* &* +@all\n');
  const redis = await startOwnRedis({ aclFile });
  if (redis === undefined) {
    noteSkip('the causes that doctor and logs name', redisSkipReason);
    return undefined;
  }
  stops.push(() => redis.stop());
  const provider = await startProvider(answerChat());
  stops.push(() => provider.stop());
  const metricsPort = await freePort();
  const redisUrl = redis.url.replace('redis://', 'redis://planes:right@');
  const model = oneModel(provider);
  const catalogFile = join(folder, 'catalog.yaml');
  writeFileSync(catalogFile, model.catalog);
  const service = await startService({
    ...{ planes: 'two', ...options, redisUrl, ...model },
    controlEnvironment: { METRICS_PORT: String(metricsPort) },
  });
  stops.push(() => service.stop());
  const account = await service.createAccount();
  /** The number of failures of control's tasks so far. */
  const failures = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return [...text.matchAll(/^sotto_task_failures_total\{.*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
  };
  const doctor = async (): Promise<{ readonly code: number; readonly output: string }> => {
    const command = [...fromSource, programOf('apps/control/src/main.ts'), 'doctor'];
    const { code, out, error } = await runToEnd(process.execPath, command, root, {
      ...service.secrets,
      ...{ DATABASE_URL: options.databaseUrl, REDIS_URL: redisUrl, CATALOG_FILE: catalogFile },
      CONTROL_ORIGIN: new URL(service.controlUrl).origin,
      CONFIDENTIAL_ORIGIN: new URL(service.baseUrl).origin,
    });
    return { code, output: `${out}\n${error}` };
  };
  return { service, account, redis, failures, doctor };
}

const chat = (service: Service, { inferenceKey }: TestAccount) =>
  post(
    `${service.baseUrl}/chat/completions`,
    { model: 'm/one', messages: [{ role: 'user', content: 'hello' }] },
    bearer(inferenceKey),
  );

it('doctor and the log of control name a full disk of Postgres, on which nothing is booked', async (context) => {
  const disk = await mountSmallDisk(256);
  if (disk === undefined) return context.skip('run as root where file systems may be mounted');
  stops.push(() => disk.stop());
  const postgres = await startOwnPostgres({ within: disk.folder });
  stops.push(() => postgres.stop());
  const started = await start({ databaseUrl: await postgres.createDatabase() });
  if (started === undefined) return context.skip('no Redis');
  const { service, account, doctor } = started;
  expect((await doctor()).output).toMatch(/^no problems$/m);
  await disk.fill();
  const hasFailed = async (): Promise<boolean> => {
    expect((await chat(service, account)).status).toBe(200);
    return linesOf(service).some(({ task }) => task === 'settler');
  };
  await until(hasFailed, 'a booking fails');
  const failed = linesOf(service).filter(({ task }) => task === 'settler');
  expect(failed).toEqual([expect.objectContaining({ msg: 'task failed', cause: '53100 disk_full' })]);

  const ill = await doctor();
  expect(ill.code).toBe(1);
  expect(ill.output).toMatch(
    /^WRONG {3}Postgres: cannot write to its disk \(53100 disk_full\)\n +Its disk is full, so nothing is booked/m,
  );

  await disk.free();
  await service.settled(account);
  expect((await doctor()).output).toMatch(/^no problems$/m);
});

it('doctor and both logs say that Redis rejects a password, and each line comes once', async (context) => {
  const postgres = await startTestPostgres();
  stops.push(() => postgres.stop());
  const started = await start({ databaseUrl: await postgres.createDatabase() });
  if (started === undefined) return context.skip('no Redis');
  const { service, account, redis, failures, doctor } = started;
  expect((await chat(service, account)).status).toBe(200);
  await service.settled(account);
  const before = { failures: await failures(), lines: linesOf(service).length };
  /** Changes the password of the planes, and ends their connections. */
  const setPassword = (password: string) =>
    withRedis(redis.url, async (admin) => {
      await admin.call('ACL', 'SETUSER', 'planes', 'resetpass', `>${password}`);
      await admin.call('CLIENT', 'KILL', 'USER', 'planes');
    });
  await setPassword('other');
  const since = (): Line[] => linesOf(service).slice(before.lines);
  for (const plane of ['control', 'confidential']) {
    const isTold = () => since().some(({ process, cause }) => process === plane && cause === 'WRONGPASS');
    await until(async () => isTold(), `the log of ${plane} says that Redis rejects the password`);
  }
  const settlerWaits = () => since().some(({ task, reason }) => task === 'settler' && reason === 'WRONGPASS');
  await until(async () => settlerWaits(), 'the log says that the settler waits, and why');
  await until(async () => (await failures()) - before.failures >= 100, 'the tasks of control fail a hundred times');
  for (const { cause, ...line } of since().filter((line) => line.cause === 'WRONGPASS')) {
    const fix = 'correct the user and the password in REDIS_URL';
    expect(line).toMatchObject({ msg: 'no connection to Redis', fix });
  }
  const written = since().map(({ process, msg, task, cause, reason }) => [process, msg, task, cause, reason].join());
  expect(written.filter((line, at) => written.indexOf(line) !== at)).toEqual([]);

  const ill = await doctor();
  expect(ill.code).toBe(1);
  expect(ill.output).toMatch(
    /^WRONG {3}Redis: rejects the user or the password of REDIS_URL \(WRONGPASS\)\n +Correct the user and the password in REDIS_URL\.$/m,
  );
  expect(ill.output).toMatch(/^WRONG {3}shared state: cannot be read \(WRONGPASS\)/m);

  await setPassword('right');
  await until(async () => (await chat(service, account)).status === 200, 'the planes serve again');
  for (const plane of ['control', 'confidential']) {
    const connects = () =>
      linesOf(service).some(({ process, msg }) => process === plane && msg === 'connected to Redis');
    await until(async () => connects(), `the log of ${plane} says that it is connected again`);
  }
});
