import { withRedis } from '@sotto/test-servers';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { type Service, type TestAccount, until } from './service.ts';

/** USD per million tokens, as in CATALOG_FILE. */
export interface Pricing {
  readonly input: number;
  readonly output?: number;
  readonly cached_input?: number;
  readonly cache_write?: number;
  readonly reasoning?: number;
  readonly tiers?: readonly {
    readonly above_prompt_tokens: number;
    readonly input?: number;
    readonly output?: number;
  }[];
}

export interface TokenCounts {
  readonly prompt: number;
  readonly completion?: number;
  readonly cached?: number;
  readonly written?: number;
  readonly reasoning?: number;
}

/**
 * Returns the cost of tokens in nano-USD: exact in pico-USD, then rounded up once. It is independent of the code under
 * test.
 */
export function costOf(counts: TokenCounts, pricing: Pricing): bigint {
  const { prompt, completion = 0, cached = 0, written = 0, reasoning = 0 } = counts;
  let input = pricing.input;
  let output = pricing.output ?? 0;
  for (const tier of pricing.tiers ?? []) {
    if (prompt > tier.above_prompt_tokens) {
      input = tier.input ?? input;
      output = tier.output ?? output;
    }
  }
  const pico = (usdPerMillion: number): bigint => BigInt(Math.round(usdPerMillion * 1e6));
  const read = Math.min(cached, prompt);
  const wrote = Math.min(written, prompt - read);
  const thought = pricing.reasoning === undefined ? 0 : Math.min(reasoning, completion);
  const sum =
    BigInt(prompt - read - wrote) * pico(input) +
    BigInt(read) * pico(pricing.cached_input ?? input) +
    BigInt(wrote) * pico(pricing.cache_write ?? input) +
    BigInt(completion - thought) * pico(output) +
    BigInt(thought) * pico(pricing.reasoning ?? 0);
  return (sum + 999n) / 1000n;
}

export const usageOf = (prompt: number, completion: number, more: object = {}): object => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...more,
});

/** Converts a JSON amount in USD to nano-USD. */
export const nano = (usd: unknown): bigint => BigInt(Math.round(Number(usd) * 1e9));

export interface UsageRow {
  readonly id: string;
  readonly model: string;
  readonly operation: string;
  readonly provider: string | null;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost: bigint;
  readonly attempts: number;
  readonly fallback: boolean;
  readonly status: string;
  readonly estimated: boolean;
}

/** Returns every usage row of an account. */
export async function usageRows({ pool }: Service, { accountId }: Pick<TestAccount, 'accountId'>): Promise<UsageRow[]> {
  const { rows } = await pool.query<
    Record<string, string> & { attempts: number; fallback: boolean; estimated: boolean }
  >(
    `select id, model, operation, provider, prompt_tokens, completion_tokens, cost_nusd, attempts, fallback, status, estimated
     from usage where account_id = $1`,
    [accountId],
  );
  return rows.map((row) => ({
    id: row.id ?? '',
    model: row.model ?? '',
    operation: row.operation ?? '',
    provider: row.provider ?? null,
    prompt_tokens: Number(row.prompt_tokens),
    completion_tokens: Number(row.completion_tokens),
    cost: BigInt(row.cost_nusd ?? 0),
    attempts: row.attempts,
    fallback: row.fallback,
    status: row.status ?? '',
    estimated: row.estimated,
  }));
}

export const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);

/** Waits until an account's requests are booked. Asserts that wallet, ledger and usage rows agree to the nano-dollar. */
export async function expectBooked(service: Service, account: TestAccount, creditedNusd: bigint): Promise<bigint> {
  const balance = await service.settled(account);
  const rows = await usageRows(service, account);
  expect(balance).toBe(creditedNusd - sum(rows.map(({ cost }) => cost)));
  await expectSoundLedger(service);
  return balance;
}

/** The same where no other account asks at the time. Asserts as well that nothing stays held. */
export async function expectSettled(service: Service, account: TestAccount, creditedNusd: bigint): Promise<bigint> {
  const balance = await expectBooked(service, account, creditedNusd);
  if (service.redisUrl !== undefined) await expectNothingHeld(service.redisUrl);
  return balance;
}

/**
 * Asserts that every transaction and the whole ledger sum to zero, and that every account's balance is the sum of its
 * entries.
 */
export async function expectSoundLedger({ pool }: Service): Promise<void> {
  const crooked = await pool.query(
    'select transaction_id from ledger_entries group by transaction_id having sum(amount_nusd) <> 0',
  );
  expect(crooked.rows).toEqual([]);
  const total = await pool.query('select coalesce(sum(amount_nusd), 0)::text as total from ledger_entries');
  expect(total.rows).toEqual([{ total: '0' }]);
  const apart = await pool.query(
    `select a.id from accounts a where balance_nusd <>
       (select coalesce(sum(amount_nusd), 0) from ledger_entries where ledger_account = 'wallet:' || a.id)`,
  );
  expect(apart.rows).toEqual([]);
  const unknown = await pool.query(
    `select distinct ledger_account from ledger_entries where ledger_account not like 'wallet:%'
       and ledger_account not in ('funding', 'revenue', 'shortfall', 'suspense')`,
  );
  expect(unknown.rows).toEqual([]);
}

/** Returns the charge of an account during an action, in nano-USD. */
export async function chargeOf(service: Service, account: TestAccount, act: () => Promise<unknown>): Promise<bigint> {
  const before = await service.settled(account);
  await act();
  return before - (await service.settled(account));
}

/** Returns the ledger balance of one of the operator's accounts. */
export async function operatorAccount({ pool }: Service, name: 'shortfall' | 'suspense' | 'revenue'): Promise<bigint> {
  const { rows } = await pool.query<{ total: string }>(
    'select coalesce(sum(amount_nusd), 0) as total from ledger_entries where ledger_account = $1',
    [name],
  );
  return BigInt(rows[0]?.total ?? 0);
}

/** Asserts that Redis has no held or unbooked amount of any wallet or key, no hold and no note. */
export async function expectNothingHeld(redisUrl: string): Promise<void> {
  await withRedis(redisUrl, async (redis) => {
    let open: string[] = [];
    await until(async () => {
      open = await openAmounts(redis);
      return open.length === 0;
    }, 'nothing is held').catch(() => {});
    expect(open).toEqual([]);
  });
}

/** Returns the amounts that are held, noted or waiting in Redis, one line each. */
async function openAmounts(redis: Redis): Promise<string[]> {
  const open: string[] = [];
  for (const key of await redis.keys('sotto:{*')) {
    const kind = key.split(':')[2];
    if (kind === 'holds' || kind === 'notes') open.push(`${key} ${await redis.hlen(key)}`);
    if (kind === 'wallet' || kind === 'key') {
      const [held, unbooked] = await redis.hmget(key, 'held', 'unbooked');
      if (Number(held ?? 0) !== 0 || Number(unbooked ?? 0) !== 0) open.push(`${key} ${held} ${unbooked}`);
    }
  }
  return open;
}
