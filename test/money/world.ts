import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { PlanesSetup } from '../kit/both-planes.ts';
import { type ScriptedProvider, startScriptedProvider } from '../kit/scripted-provider.ts';
import { type Service, type TestAccount, until } from '../kit/service.ts';

/** USD per million tokens, as CATALOG_FILE has them. */
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

export const pricings = {
  'm/one': { input: 0.5, output: 1.5 },
  'm/cached': { input: 1, output: 3, cached_input: 0.1, cache_write: 1.25 },
  'm/reason': { input: 1, output: 3, reasoning: 7 },
  'm/tiers': {
    input: 1,
    output: 3,
    tiers: [
      { above_prompt_tokens: 100, input: 2, output: 5 },
      { above_prompt_tokens: 200, input: 4 },
    ],
  },
  'm/tiny': { input: 0.000001, output: 0.000003 },
  'm/free': { input: 0, output: 0 },
} as const satisfies Record<string, Pricing>;

/** Of `m/thinks`, which reasons, and of `m/sees`, which takes images; `m/thinks-quick` has little time for a request. */
export const hidingPricing = { input: 10, output: 40 } as const;
/** Of `m/dear`: a few requests that their client gives up use up what an account may have waived. */
export const dearPricing = { input: 1000, output: 1000 } as const;

/** What `alpha` and `beta` take for the model that both serve. */
export const twoPricings = { alpha: { input: 1, output: 3 }, beta: { input: 2, output: 5 } } as const;
/** Of `m/quick`, whose provider `quick` has little time for a request. */
export const quickPricing = { input: 1, output: 3 } as const;
export const quickTotalMs = 700;
export const embedPricing = { input: 0.02 } as const;

const limits = { context_length: 8000, max_output_tokens: 4000 };

/** Known to the tests, so that they can write settlements of their own. */
export const settlementMacKey = randomBytes(32);
export const accountRefKey = randomBytes(32);

/** What a suite about money runs on; only within tests and hooks. */
export interface MoneyStage {
  readonly service: Service;
  readonly world: MoneyWorld;
}

export interface MoneyWorld {
  readonly alpha: ScriptedProvider;
  readonly beta: ScriptedProvider;
  readonly quick: ScriptedProvider;
  readonly setup: PlanesSetup;
}

/** Two scripted providers and models at all sorts of prices. */
export async function startMoneyWorld(): Promise<MoneyWorld> {
  const alpha = await startScriptedProvider('alpha');
  const beta = await startScriptedProvider('beta');
  const quick = await startScriptedProvider('quick');
  const entry = (id: string, { baseUrl }: ScriptedProvider, totalMs = 20_000): object => ({
    id,
    name: id,
    adapter: 'openai',
    base_url: baseUrl,
    privacy_class: 'private',
    // The last candidate has no first byte limit, only the idle and the total time.
    timeouts: { connect_ms: 1000, first_byte_ms: 400, idle_ms: 600, total_ms: totalMs },
  });
  const route = (provider: string, pricing: Pricing): object => ({
    provider,
    upstream_model: `${provider}-own`,
    privacy_class: 'private',
    pricing,
  });
  const models: object[] = Object.entries(pricings).map(([id, pricing]) => ({
    id,
    model_type: 'text',
    ...limits,
    routes: [route('alpha', pricing)],
  }));
  const both = [route('alpha', twoPricings.alpha), route('beta', twoPricings.beta)];
  models.push({ id: 'm/two', model_type: 'text', ...limits, routes: both });
  models.push({ id: 'm/quick', model_type: 'text', ...limits, routes: [route('quick', quickPricing)] });
  const thinks = { reasoning: { efforts: ['low', 'high'], can_disable: true } };
  for (const [id, provider, pricing, capabilities] of [
    ['m/thinks', 'alpha', hidingPricing, thinks],
    ['m/thinks-quick', 'quick', hidingPricing, thinks],
    ['m/sees', 'alpha', hidingPricing, { vision: true }],
    ['m/dear', 'alpha', dearPricing, {}],
  ] as const) {
    models.push({ id, model_type: 'text', ...limits, routes: [{ ...route(provider, pricing), capabilities }] });
  }
  models.push({ id: 'm/embed', model_type: 'embedding', context_length: 8000, routes: [route('alpha', embedPricing)] });
  return {
    alpha,
    beta,
    quick,
    setup: {
      registry: JSON.stringify({
        providers: [entry('alpha', alpha), entry('beta', beta), entry('quick', quick, quickTotalMs)],
      }),
      catalog: JSON.stringify({ models }),
      environment: {
        SETTLEMENT_MAC_KEY: settlementMacKey.toString('base64'),
        ACCOUNT_REF_KEY: accountRefKey.toString('base64'),
      },
      async stop() {
        await alpha.stop();
        await beta.stop();
        await quick.stop();
      },
    },
  };
}

export interface TokenCounts {
  readonly prompt: number;
  readonly completion?: number;
  readonly cached?: number;
  readonly written?: number;
  readonly reasoning?: number;
}

/** What tokens cost, in nano-USD: exact in pico-USD, rounded up once (design 5). Written apart from the code it judges. */
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

/** A JSON amount in USD as nano-USD. */
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

/** Every usage row of an account. */
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

/** Waits until everything is booked, and asserts that wallet, ledger and usage rows tell the same, to the nano-dollar. */
export async function expectSettled(service: Service, account: TestAccount, creditedNusd: bigint): Promise<bigint> {
  const balance = await service.settled(account);
  const rows = await usageRows(service, account);
  expect(balance).toBe(creditedNusd - sum(rows.map(({ cost }) => cost)));
  await expectSoundLedger(service);
  if (service.redisUrl !== undefined) await expectNothingHeld(service.redisUrl);
  return balance;
}

/** The books balance, by transaction and in all, and every account's balance is what its entries say. */
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

/** What the ledger says of one of the operator's accounts. */
export async function operatorAccount({ pool }: Service, name: 'shortfall' | 'suspense' | 'revenue'): Promise<bigint> {
  const { rows } = await pool.query<{ total: string }>(
    'select coalesce(sum(amount_nusd), 0) as total from ledger_entries where ledger_account = $1',
    [name],
  );
  return BigInt(rows[0]?.total ?? 0);
}

/** In Redis nothing is held or unbooked any more, of any wallet or key, and no hold or note is left. */
export async function expectNothingHeld(redisUrl: string): Promise<void> {
  await withRedis(redisUrl, async (redis) => {
    await until(async () => (await openAmounts(redis)).length === 0, 'nothing is held', 3000).catch(() => {});
    expect(await openAmounts(redis)).toEqual([]);
  });
}

/** What is held, noted or waiting in Redis, one line each. */
export async function openAmounts(redis: Redis): Promise<string[]> {
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

export async function withRedis<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  redis.on('error', () => {});
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

/** A generator of random numbers from a seed (mulberry32), so that a run can be had again. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
