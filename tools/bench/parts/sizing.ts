import { end, startNode } from '../contender.ts';
import { cpuMicroseconds, familyMicroseconds } from '../cpu.ts';
import { mixedCatalog, openTraffic } from '../mixed-traffic.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchRegistry, startSotto } from '../sotto.ts';

const perSecond = 300;

/**
 * Measures the work of each process for a million requests, with a Redis that writes before it answers. Operators size
 * deployments with it.
 */
export const sizing: Part = async ({ quick }) => {
  const forMs = quick ? 10_000 : 120_000;
  const provider = await startNode('./processes/provider.ts', [], false);
  const sotto = await startSotto({
    registry: benchRegistry(`http://127.0.0.1:${provider.port}/v1`),
    catalog: mixedCatalog,
    discardLogs: true,
    ledgerYields: false,
    durable: true,
  });
  if (sotto === undefined) return noRedis();
  const { service, pids } = sotto;
  const traffic = openTraffic(sotto);
  await traffic.closedLoop(16, quick ? 3000 : 15_000);

  const look = () => ({
    broker: cpuMicroseconds([service.broker.pid]),
    control: cpuMicroseconds([service.control.pid]),
    Redis: pids.redis === undefined ? 0 : cpuMicroseconds([pids.redis]),
    Postgres: pids.postgres === undefined ? 0 : familyMicroseconds(pids.postgres),
  });
  const sizeOf = async (): Promise<number> => {
    const { rows } = await service.pool.query<{ size: string }>('select pg_database_size(current_database()) as size');
    return Number(rows[0]?.size ?? 0);
  };
  const [before, sizeBefore] = [look(), await sizeOf()];
  const { counts, unexpected } = await traffic.openLoop(perSecond, forMs);
  await service.settled(sotto.account);
  const [after, sizeAfter] = [look(), await sizeOf()];
  traffic.close();
  await sotto.stop();
  await end(provider.child);

  const requests = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const rows = (Object.keys(before) as (keyof typeof before)[]).map((name) => {
    const each = (after[name] - before[name]) / requests;
    return [name, figure(each), figure(each / 3600, 3), figure(1e6 / each)];
  });
  return {
    title: 'Cost of a million requests',
    method: `The mixed traffic of the soak at ${perSecond} requests per second: whole answers, streams of 20 and some of 500 events, embeddings, and some requests that fail. A seventh use tickets that control mints. Of ${requests.toLocaleString('en')} requests, ${unexpected.length} had an unexpected answer. Redis writes to disk before it answers. Control and Postgres include booking, audits and projections. Postgres grew by ${figure((sizeAfter - sizeBefore) / requests)} bytes per request.`,
    tables: [
      {
        caption: 'CPU of each process',
        head: ['', 'µs per request', 'core hours per million', 'requests/s on one core'],
        rows,
      },
    ],
    promises: [{ what: 'sizing: unexpected answers', atMost: 0, measured: unexpected.length, unit: '' }],
  };
};
