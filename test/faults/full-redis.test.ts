import { hashSecret, shards } from '@sotto/state';
import { until } from '@sotto/test-servers';
import { initialPreferences } from '@sotto/wire';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bearer } from '../kit/client.ts';
import { type Person, peopleOf } from '../kit/people.ts';
import { scripted } from '../kit/scripted-provider.ts';
import { get, post } from '../kit/send.ts';
import { type OwnStage, startOwnStage } from '../kit/stage/own-stage.ts';

const mebibyte = 1024 * 1024;
/** Preferences of some 50,000 characters. */
const large = {
  auto: {
    ...initialPreferences.auto,
    models: {
      mode: 'except' as const,
      ids: Array.from({ length: 500 }, (_, index) => `acme/${'long-'.repeat(18)}${index}`),
    },
  },
};

let stage: OwnStage | undefined;
let redis: Redis;

beforeAll(async () => {
  stage = await startOwnStage('a Redis that is full');
  if (stage !== undefined) redis = new Redis(stage.redis.url);
});
afterAll(async () => {
  redis?.disconnect();
  await stage?.stop();
});
beforeEach((context) => {
  if (stage === undefined) context.skip('no Redis');
});

const running = (): OwnStage => stage ?? expect.fail('no stage');
const people = peopleOf({
  get service() {
    return running().service;
  },
});
const usage = { prompt_tokens: 10, completion_tokens: 5 };
const content = scripted({ '*': { kind: 'answer', usage } });
const ask = (key: string) =>
  post(
    `${running().service.baseUrl}/chat/completions`,
    {
      ...{ model: 'm/one', max_tokens: 10, messages: [{ role: 'user', content }] },
    },
    bearer(key),
  );
const usedBytes = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
const limitMemory = (bytes: number) => redis.config('SET', 'maxmemory', bytes);
const defaultWorkspace = async ({ accountId }: Person): Promise<string> =>
  (await running().service.pool.query('select id from workspaces where account_id = $1 and is_default', [accountId]))
    .rows[0].id;
const revoke = async ({ session }: Person, id: string): Promise<number> =>
  (await fetch(people.url(`/keys/${id}`), { method: 'DELETE', headers: session })).status;
/** Whether Redis has a record by which requests may use a key. */
async function hasRecord(key: string): Promise<boolean> {
  const found = await Promise.all(
    shards.map((shard) => redis.hexists(`sotto:{w${shard}}:key:${hashSecret(key)}`, 'ws')),
  );
  return found.includes(1);
}
const statusOf = async (url: string): Promise<number> => (await get(url)).status;

describe('a Redis with little memory', () => {
  it('is not filled by one account that creates and revokes keys with large preferences', async () => {
    const { service, account } = running();
    const attacker = await people.signUp();
    const workspaceId = await defaultWorkspace(attacker);
    const of = { ...account, accountId: attacker.accountId, workspaceId };
    await service.setPreferences(of, large);
    await limitMemory((await usedBytes()) + mebibyte);
    try {
      const kept = await Promise.all(Array.from({ length: 20 }, () => people.makeKey(attacker, workspaceId)));
      for (let times = 0; times < 40; times += 1) {
        const { id } = await people.makeKey(attacker, workspaceId);
        expect(await revoke(attacker, id)).toBe(204);
      }
      for (const { key } of kept) expect(await hasRecord(key)).toBe(true);
      expect((await ask(account.inferenceKey)).status).toBe(200);
      expect((await service.mintTicket(account.inferenceKey, { model: 'm/one' })).ticket).toBeDefined();
    } finally {
      await limitMemory(0);
    }
  });

  it('that is full still takes revocations and deletions, which free memory, and no plane calls itself unready', async () => {
    const { service, account } = running();
    const [owner, leaver] = [await people.signUp(), await people.signUp()];
    const keys = await Promise.all([1, 2].map(async () => people.makeKey(owner, await defaultWorkspace(owner))));
    const workspaceId = await defaultWorkspace(leaver);
    await service.setPreferences({ ...account, accountId: leaver.accountId, workspaceId }, large);
    const left = await people.makeKey(leaver, workspaceId);
    const [revoked, disabled] = keys;
    if (revoked === undefined || disabled === undefined) throw new Error('no keys');
    for (const { key } of [revoked, disabled, left]) expect(await hasRecord(key)).toBe(true);
    await limitMemory(1);
    try {
      expect((await ask(account.inferenceKey)).status).toBe(503);
      for (const url of [service.controlUrl, service.baseUrl]) {
        expect(await statusOf(new URL('/readyz', url).href)).toBe(200);
      }
      expect(await revoke(owner, revoked.id)).toBe(204);
      expect(await hasRecord(revoked.key)).toBe(false);
      const disabling = await fetch(people.url(`/keys/${disabled.id}`), {
        method: 'PATCH',
        headers: { ...owner.session, 'content-type': 'application/json' },
        body: JSON.stringify({ disabled: true }),
      });
      expect(disabling.status, await disabling.text()).toBe(200);
      expect(await hasRecord(disabled.key)).toBe(false);
      const before = await usedBytes();
      const { email, password } = leaver;
      const deletion = await post(people.url('/auth/delete-account'), { email, password }, leaver.session);
      expect(deletion.status, deletion.text).toBe(200);
      expect(await hasRecord(left.key)).toBe(false);
      await until(async () => before - (await usedBytes()) > 40_000, 'the preferences are gone');
    } finally {
      await limitMemory(0);
    }
    expect((await ask(account.inferenceKey)).status).toBe(200);
    for (const { key } of [revoked, disabled, left]) expect((await ask(key)).status).toBe(401);
  });
});
