import { readFileSync } from 'node:fs';
import { usagePageSchema } from '@sotto/contract/control/usage';
import {
  noteSkip,
  redisSkipReason,
  startTestPostgres,
  startTestRedis,
  type TestPostgres,
  type TestRedis,
} from '@sotto/test-servers';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectSoundLedger, usageOf } from '../../kit/books.ts';
import { ask, bearer } from '../../kit/client.ts';
import { peopleOf } from '../../kit/people.ts';
import { scripted } from '../../kit/scripted-provider.ts';
import { get, send } from '../../kit/send.ts';
import { type Service, startService } from '../../kit/service.ts';
import { StageProviders } from '../../kit/stage/providers.ts';
import { scriptedModel } from '../../kit/stage/scripted-model.ts';

/** What a database of the first schema held. The first release takes its place, and each later one that of the one before. */
const rows = readFileSync(new URL('first-schema.sql', import.meta.url), 'utf8');
const password = 'correct horse battery';
const ann = {
  accountId: '74787424-bbdd-4c6d-b65d-41960cde7746',
  email: 'ann@company.example',
  inferenceKey: 'sotto_inf_iE_S2A6stcVHWXF8dSBO_9HSzhIgpQPs3geN-GHxS5oplgnJX',
  managementKey: 'sotto_mgt_K-D0efv_6EzRpSe_ooCG_eM2QiI4jmE73K7xN0RZAwQ418LHy',
  workspaceId: '13b12c92-97c5-46ef-8797-8cf43630cd03',
};
const ben = {
  accountId: 'a6ca4f27-cc5d-4e56-bd14-7d6d49718bed',
  email: 'ben@company.example',
  inferenceKey: 'sotto_inf_qt8NBfUSh1W-kPNKpWlKopuk4V7TZNISIIyGFPB8u5cFTUtiF',
};
/** Five dollars, less the eight requests of the workspace. */
const balanceNusd = 4_998_948_000n;
const requests = 8;

let postgres: TestPostgres;
let redis: TestRedis | undefined;
let providers: StageProviders;
let service: Service | undefined;
beforeAll(async () => {
  postgres = await startTestPostgres();
  providers = await StageProviders.start(scriptedModel());
  redis = await startTestRedis();
  if (redis === undefined) return noteSkip('an upgrade', redisSkipReason);
  service = await startService({
    planes: 'two',
    databaseUrl: await restoredDatabase(),
    redisUrl: redis.url,
    ...providers.files,
  });
});
afterAll(async () => {
  await service?.stop();
  await redis?.stop();
  await providers.stop();
  await postgres.stop();
});

/** Returns the URL of a database as that version left it. */
async function restoredDatabase(): Promise<string> {
  const url = await postgres.createEmptyDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const schema = new URL('../../../apps/control/migrations/0000_initial.sql', import.meta.url);
    await client.query(readFileSync(schema, 'utf8'));
    await client.query(
      'delete from deployment; create schema drizzle; create table drizzle.__drizzle_migrations (id serial primary key, hash text, created_at bigint)',
    );
    // The rows come in the order of their tables’ names, so foreign keys are not checked until all are there.
    await client.query("set session_replication_role = 'replica'");
    await client.query(rows);
  } finally {
    await client.end();
  }
  return url;
}

it('keeps the balance, the history and the charges of each month', async (context) => {
  if (service === undefined) return context.skip('no Redis');
  expect(await service.settled(ann)).toBe(balanceNusd);
  await expectSoundLedger(service);
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  const usage = await get(`${service.controlUrl}/usage?limit=100`, bearer(ann.managementKey));
  const { data } = usagePageSchema.parse(usage.json);
  expect(data.map(({ failed_attempts: failed }) => failed)).toEqual(Array(requests).fill([]));
  const { rows: months } = await service.pool.query('select month, sum(spent_nusd) from key_months group by month');
  expect(months).toEqual([{ month: '2026-11', sum: String(5_000_000_000n - balanceNusd) }]);
});

it('serves the keys of both people, in both flows', async (context) => {
  if (service === undefined) return context.skip('no Redis');
  const before = await service.settled(ann);
  const act = { kind: 'answer', usage: usageOf(7, 5) } as const;
  for (const { inferenceKey } of [ann, ben])
    for (const flow of ['compatibility', 'ticket'] as const) {
      const messages = [{ role: 'user', content: scripted({ '*': act }, `${inferenceKey} ${flow}`) }];
      const answered = await ask(
        service,
        inferenceKey,
        {
          ...{ model: 'm/one', messages },
          max_completion_tokens: 100,
        },
        { flow },
      );
      expect(answered.status, answered.text).toBe(200);
    }
  expect(await service.settled(ann)).toBe(before - 4n * (7n * 1000n + 5n * 3000n));
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
});

it('lets people sign in, keeps their workspace, and takes a budget for it', async (context) => {
  if (service === undefined) return context.skip('no Redis');
  const people = peopleOf({ service });
  const sessions = [];
  for (const { email } of [ann, ben]) sessions.push(await people.signIn({ email, password }));
  const [owner = {}, member = {}] = sessions;
  const url = people.url(`/workspaces/${ann.workspaceId}/budgets`);
  expect((await get(people.url('/workspaces'), member)).json).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ id: ann.workspaceId, name: 'Team', role: 'member' })]),
  });
  expect((await get(url, owner)).json).toMatchObject({ data: [] });
  const budget = { limit_usd: 1, member_id: ben.accountId };
  expect(await send('PUT', url, { headers: owner, body: budget })).toMatchObject({ status: 200 });
});
