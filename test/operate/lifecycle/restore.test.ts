import { randomBytes } from 'node:crypto';
import { noteSkip, type OwnRedis, redisSkipReason, startOwnRedis } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { usageOf, usageRows } from '../../kit/books.ts';
import { ask, bearer } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { startLoad } from '../../kit/load.ts';
import {
  backupGuide,
  findPackagedPostgres,
  type PackagedPostgres,
  packagedPostgresSkipReason,
  startPackagedPostgres,
} from '../../kit/packaged-postgres.ts';
import { scripted } from '../../kit/scripted-provider.ts';
import { type Service, startService } from '../../kit/service.ts';
import { StageProviders } from '../../kit/stage/providers.ts';
import { scriptedModel } from '../../kit/stage/scripted-model.ts';

let providers: StageProviders;
const stops: (() => Promise<void>)[] = [];
let bin: string | undefined;
const folder = useFolder('restore');
beforeAll(async () => {
  bin = await findPackagedPostgres();
  if (bin === undefined) return noteSkip('a restore from a backup by `pg_dump`', packagedPostgresSkipReason);
  providers = await StageProviders.start(scriptedModel());
  stops.push(() => providers.stop());
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

/** A new machine: an empty Postgres and an empty Redis. */
async function newMachine(): Promise<{ postgres: PackagedPostgres; redis: OwnRedis } | undefined> {
  const redis = await startOwnRedis({ appendOnly: true });
  if (redis === undefined) {
    noteSkip('a restore from a backup by `pg_dump`', redisSkipReason);
    return undefined;
  }
  stops.push(() => redis.stop());
  const postgres = await startPackagedPostgres(bin ?? '');
  stops.push(() => postgres.stop());
  return { postgres, redis };
}

it('a backup is restored on a new machine: the audit is clean, keys work, and pins hold', async (context) => {
  if (bin === undefined) return context.skip('no packaged PostgreSQL');
  const first = await newMachine();
  if (first === undefined) return context.skip('no Redis');
  const files = { ...providers.files, environment: { ATTESTATION: 'simulated' } };
  const databaseUrl = await first.postgres.createDatabase('sotto');
  const before = await startService({ planes: 'two', databaseUrl, redisUrl: first.redis.url, ...files });
  let isGone = false;
  stops.push(async () => {
    if (!isGone) await before.stop();
  });
  const account = await before.createAccount({ usd: 100 });
  const load = startLoad({ service: before, account }, { everyMs: 30, sendsAgain: true });
  await load.reach(100);
  expect((await load.stop()).filter(({ called }) => !called.complete)).toEqual([]);
  const balance = await before.settled(account);
  const registryDigest = await registryOf(before);
  const used = (await usageRows(before, account)).length;

  const guide = backupGuide(bin, folder);
  guide.backUp(databaseUrl);
  // Requests after the backup are lost with the machine.
  const late = startLoad({ service: before, account }, { everyMs: 30, first: 1000 });
  await late.reach(10);
  await late.stop();
  const { secrets } = before;
  await before.stop();
  isGone = true;

  const second = await newMachine();
  if (second === undefined) throw new Error('no Redis any more');
  const newUrl = await second.postgres.createDatabase('sotto');
  guide.restore(newUrl);
  const { ACCOUNT_REF_KEY, SESSION_SECRET, ...shared } = secrets;
  const after = await startService({
    ...{ planes: 'two', databaseUrl: newUrl, redisUrl: second.redis.url, ...files },
    environment: { ...files.environment, ...shared },
    controlEnvironment: { ACCOUNT_REF_KEY, SESSION_SECRET },
  });
  stops.push(() => after.stop());

  expect(await after.runControl(['audit'])).toMatchObject({ code: 0 });
  expect(await after.settled(account)).toBe(balance);
  expect((await usageRows(after, account)).length).toBe(used);
  const body = {
    model: 'm/one',
    messages: [{ role: 'user', content: scripted({ '*': { kind: 'answer', usage: usageOf(7, 5) } }, 'restored') }],
    max_completion_tokens: 100,
  };
  for (const flow of ['compatibility', 'ticket'] as const) {
    const answered = await ask(after, account.inferenceKey, body, { flow });
    expect(answered.status, answered.text).toBe(200);
  }
  expect(await after.settled(account)).toBe(balance - 2n * (7n * 1000n + 5n * 3000n));
  expect(await registryOf(after)).toBe(registryDigest);
  const shown = await fetch(`${after.controlUrl}/balance`, { headers: bearer(account.managementKey) });
  expect(shown.status).toBe(200);
  expect(await after.runControl(['audit'])).toMatchObject({ code: 0 });
}, 240_000);

/** The pin of a broker without hardware: the digest of its registry. */
async function registryOf({ baseUrl }: Service): Promise<string> {
  const nonce = randomBytes(32).toString('hex');
  const answer = await fetch(`${baseUrl}/gateway/attestation?nonce=${nonce}`);
  const { key_set: keys } = (await answer.json()) as { key_set: { provider_registry_digest: string } };
  expect(keys.provider_registry_digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  return keys.provider_registry_digest;
}
