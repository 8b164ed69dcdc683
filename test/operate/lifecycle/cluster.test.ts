import { setTimeout as pause } from 'node:timers/promises';
import { noteSkip, redisSkipReason, startOwnRedis, type TestRedisCluster } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../kit/fault-proxy.ts';
import { expectCivil, expectFair, startLoad, untilServed } from '../../kit/load.ts';
import { type OwnPostgres, type Standby, startOwnPostgres, startStandby } from '../../kit/postgres.ts';
import { type Service, startService } from '../../kit/service.ts';
import { StageProviders } from '../../kit/stage/providers.ts';
import { scriptedModel } from '../../kit/stage/scripted-model.ts';

let redis: TestRedisCluster | undefined;
let primary: OwnPostgres;
let standby: Standby;
/** Simulates the address of the database, which moves to the standby on failover. */
let address: FaultProxy;
let providers: StageProviders;
let service: Service;

beforeAll(async () => {
  const started = await startOwnRedis({ cluster: true, appendOnly: true });
  if (started === undefined || !('members' in started)) {
    await started?.stop();
    return noteSkip('a Redis Cluster and a Postgres with a standby of which one is killed', redisSkipReason);
  }
  redis = started as TestRedisCluster;
  primary = await startOwnPostgres({ durability: 'full' });
  address = await startFaultProxy(primary.port);
  providers = await StageProviders.start(scriptedModel());
  const databaseUrl = new URL(await primary.createDatabase());
  databaseUrl.port = String(address.port);
  standby = await startStandby(primary);
  service = await startService({
    planes: 'two',
    databaseUrl: databaseUrl.href,
    redisUrl: redis.url,
    ...providers.files,
  });
});
afterAll(async () => {
  await service?.stop();
  await providers?.stop();
  address?.close();
  await primary?.stop();
  await standby?.stop();
  await redis?.stop();
});

it('a cluster node and then the primary fail under load: no client gets 401, and every answer is paid for once', async (context) => {
  if (redis === undefined) return context.skip('no Redis Cluster of our own');
  const account = await service.createAccount({ usd: 1000 });
  const load = startLoad({ service, account }, { everyMs: 40 });
  await load.reach(30);
  for (const member of redis.members) {
    await member.kill9();
    await pause(2000);
    await member.restart();
    await untilServed(load);
  }
  await primary.kill9();
  address.moveTo(standby.port);
  address.cut();
  await pause(1000);
  await standby.promote();
  await untilServed(load);
  const sent = await load.stop();

  expectCivil(sent);
  expect(sent.filter(({ called }) => called.complete).length).toBeGreaterThan(100);
  await expectFair({ service, account, provider: providers.scripted('alpha') }, sent);
  await service.settled(account);
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
}, 180_000);
