import { setTimeout as sleep } from 'node:timers/promises';
import { setup as bundlePrograms } from '../../../test/kit/bundles.ts';
import { startOwnPostgres } from '../../../test/kit/postgres.ts';
import { startService } from '../../../test/kit/service.ts';
import { type Contender, end, startNode } from '../contender.ts';
import { cpuMicroseconds, familyMicroseconds, median, percentile, residentMiB } from '../cpu.ts';
import { Load } from '../load.ts';
import { figure, type Part } from '../page/report.ts';
import { benchCatalog, benchRegistry } from '../sotto.ts';

const atATime = 32;

/**
 * Measures what `npm start` starts without a Redis: both planes in one process, and a Postgres that writes to disk at each commit.
 * Nothing is pinned to a core.
 */
export const defaultStart: Part = async ({ quick }) => {
  const provider = await startNode('./processes/provider.ts', [], false);
  await bundlePrograms();
  const postgres = await startOwnPostgres({ durability: 'full' });
  const service = await startService({
    planes: 'one',
    databaseUrl: await postgres.createDatabase(),
    registry: benchRegistry(`http://127.0.0.1:${provider.port}/v1`),
    catalog: benchCatalog(['json']),
  });
  const account = await service.createAccount({ usd: 9_000_000 });
  const target: Contender['target'] = {
    origin: new URL(service.baseUrl).origin,
    path: '/v1/chat/completions',
    headers: () => ({ authorization: `Bearer ${account.inferenceKey}` }),
    model: (name) => `bench/${name}`,
  };
  const load = new Load(target);
  const alone = new Load({ ...target, origin: `http://127.0.0.1:${provider.port}` });
  const cpu = () => ({
    node: cpuMicroseconds([service.broker.pid]),
    postgres: familyMicroseconds(postgres.pid),
  });
  const since = (before: ReturnType<typeof cpu>) => {
    const now = cpu();
    return { node: now.node - before.node, postgres: now.postgres - before.postgres };
  };
  const commits = async (): Promise<number> => {
    const { rows } = await service.pool.query<{ commits: string }>(
      'select xact_commit as commits from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0]?.commits);
  };

  const count = quick ? 2000 : 6000;
  await load.closedLoop({ model: 'json', stream: false, count: 6000, connections: atATime });
  const rounds = {
    perSecond: [] as number[],
    node: [] as number[],
    postgres: [] as number[],
    perCommit: [] as number[],
  };
  for (let round = 0; round < (quick ? 3 : 9); round += 1) {
    const [before, committed] = [cpu(), await commits()];
    rounds.perSecond.push(await load.closedLoop({ model: 'json', stream: false, count, connections: atATime }));
    const used = since(before);
    rounds.node.push(used.node / count);
    rounds.postgres.push(used.postgres / count);
    await sleep(1000);
    rounds.perCommit.push(count / ((await commits()) - committed));
  }
  const timesOf = async (of: Load): Promise<number[]> => {
    const times: number[] = [];
    for (let at = 0; at < 500; at += 1) times.push((await of.request('json', false)).firstByteMs);
    return times;
  };
  const single = await timesOf(load);
  const upstream = await timesOf(alone);
  await load.close();
  await alone.close();
  const node = median(rounds.node);
  const database = median(rounds.postgres);
  const busyMiB = residentMiB([service.broker.pid]);
  await service.stop();
  await postgres.stop();
  await end(provider.child);
  return {
    title: 'The default start',
    method: `\`npm start\` without Redis: both planes in one process, with the Postgres that it brings, which writes to disk at each commit. Whole answers by key, ${atATime} at a time; the load and the provider share its cores.`,
    tables: [
      {
        caption: '',
        head: ['', ''],
        rows: [
          ['requests/s', figure(median(rounds.perSecond))],
          ['CPU of Node per request, µs', figure(node)],
          ['CPU of Postgres per request, µs', figure(database)],
          ['answers that share a commit', figure(median(rounds.perCommit), 1)],
          ['alone, p50 ms', figure(median(single), 2)],
          ['alone, p99 ms', figure(percentile(single, 99), 2)],
          ['the provider without Sotto, p50 ms', figure(median(upstream), 2)],
          ['after the load, MiB', figure(busyMiB)],
        ],
      },
    ],
    promises: [
      { what: 'default start: CPU per request, all processes', atMost: 600, measured: node + database, unit: 'µs' },
    ],
  };
};
