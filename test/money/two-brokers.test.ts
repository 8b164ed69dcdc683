import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stage, setStage } from '../faults/chaos/load.ts';
import { bearer, call, errorOf } from '../kit/call.ts';
import type { TestRedis } from '../kit/redis.ts';
import { scripted } from '../kit/scripted-provider.ts';
import { usageOf } from './world.ts';

let redis: TestRedis | undefined;
let stage: Stage;

beforeAll(async () => {
  const set = await setStage('two brokers that spend from one balance');
  if (set === undefined) return;
  stage = set;
  redis = set.redis;
});
afterAll(async () => {
  await stage?.stop();
});

const requests = 500;
const keyCount = 8;
/** 1 nano-USD per 10⁻⁹: 1 USD a million tokens in, 3 out: a request of 100 tokens out costs 307 micro-USD at most. */
const limitUsd = 0.004;

it('500 requests at once on 8 keys of one account, by two brokers, never pass the balance or the limit of a key', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { service } = stage;
  const { baseUrl } = await service.addBroker();
  const account = await service.createAccount({ usd: 0.02 });
  const limited = await Promise.all(
    Array.from({ length: keyCount }, (_, index) => service.createKey(account, index < 4 ? { limitUsd } : {})),
  );
  const act = { kind: 'answer', usage: usageOf(7, 100), delayMs: 150 } as const;
  const body = {
    model: 'm/one',
    messages: [{ role: 'user', content: scripted({ alpha: act }, 'at once') }],
    max_completion_tokens: 100,
  };
  const answers = await Promise.all(
    Array.from({ length: requests }, async (_, index) => {
      const key = limited[index % keyCount] ?? '';
      const base = index % 2 === 0 ? service.baseUrl : baseUrl;
      const answer = await call(`${base}/chat/completions`, bearer(key), body);
      return { key, answer };
    }),
  );
  const served = answers.filter(({ answer }) => answer.status === 200);
  const refused = answers.filter(({ answer }) => answer.status !== 200);
  const poor = refused.filter(({ answer }) => answer.status === 402);
  expect(poor.map(({ answer }) => errorOf(answer)?.type)).toEqual(poor.map(() => 'insufficient_balance'));
  // On a machine that is busy with other things, Redis may answer too late: then nothing may be spent either.
  const late = refused.filter(({ answer }) => answer.status !== 402);
  expect(late.map(({ answer }) => errorOf(answer)?.type)).toEqual(late.map(() => 'service_unavailable'));
  // Both limits were met: there is money for some requests, and not for all.
  expect(served.length).toBeGreaterThan(20);
  expect(poor.length).toBeGreaterThan(100);

  const balance = await service.settled(account);
  expect(balance).toBeGreaterThanOrEqual(0n);
  const { rows } = await service.pool.query<{ spent: string; limit: string | null; requests: string }>(
    `select k.spent_nusd as spent, k.credit_limit_nusd as limit, (select count(*) from usage u where u.key_id = k.id) as requests
     from api_keys k where k.account_id = $1`,
    [account.accountId],
  );
  const spent = rows.reduce((sum, row) => sum + BigInt(row.spent), 0n);
  expect(spent).toBe(20_000_000n - balance);
  expect(rows.reduce((sum, row) => sum + Number(row.requests), 0)).toBe(served.length);
  for (const row of rows) {
    if (row.limit !== null) expect(BigInt(row.spent)).toBeLessThanOrEqual(BigInt(row.limit));
  }
  const shortfall = await service.pool.query("select 1 from ledger_entries where ledger_account = 'shortfall'");
  expect(shortfall.rowCount).toBe(0);
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
});
