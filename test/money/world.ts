import { randomBytes, randomUUID } from 'node:crypto';
import { type Settlement, sealAccountRef } from '@sotto/state';
import type { Pricing } from '../kit/books.ts';
import type { PlanesIn, PlanesSetup } from '../kit/both-planes.ts';
import { filesOf, providerEntry, routeEntry, textModel } from '../kit/catalog.ts';
import { type ScriptedProvider, startScriptedProvider } from '../kit/scripted-provider.ts';
import type { Service, TestAccount } from '../kit/service.ts';

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
  /** Only for requests with the same tokens per byte of text. */
  'm/dense': { input: 0.5, output: 1.5 },
  /** Its providers never report usage, so its tokens per byte of text stay unknown. */
  'm/untold': { input: 0.5, output: 1.5 },
} as const satisfies Record<string, Pricing>;

/** For `m/thinks`, which reasons, and `m/sees`, which takes images. `m/thinks-quick` has a short time limit. */
export const hidingPricing = { input: 10, output: 40 } as const;
/** For `m/dear`: a few abandoned requests use up an account's allowance of waived charges. */
export const dearPricing = { input: 1000, output: 1000 } as const;

/** The prices of `alpha` and `beta` for the model that both serve. */
export const twoPricings = { alpha: { input: 1, output: 3 }, beta: { input: 2, output: 5 } } as const;
/** For `m/quick`, whose provider `quick` has a short time limit. */
export const quickPricing = { input: 1, output: 3 } as const;
const quickTotalMs = 700;
export const embedPricing = { input: 0.02 } as const;

/** Shared with the tests, so that they can write their own settlements. */
export const settlementMacKey = randomBytes(32);
export const accountRefKey = randomBytes(32);

/** A reference to an account that does not exist. */
export const refOfStranger = (key: Buffer): string =>
  sealAccountRef(key, { accountId: randomUUID(), workspaceId: randomUUID(), keyId: randomUUID() });

/** An account and its inference key, as settlements name them. */
export async function ownerOf({ pool }: Service, { accountId, workspaceId }: TestAccount) {
  const { rows } = await pool.query<{ id: string }>(
    "select id from api_keys where account_id = $1 and kind = 'inference'",
    [accountId],
  );
  return { accountId, workspaceId, keyId: rows[0]?.id ?? '' };
}

/** A settlement of 1,000 nano-USD, as a broker states it. Its account exists only if `accountRef` says so. */
export const settlementOf = (changes: Partial<Settlement> = {}): Settlement => ({
  v: 1,
  id: randomBytes(16).toString('base64url'),
  kind: 'charge',
  accountRef: refOfStranger(accountRefKey),
  chargeNusd: '1000',
  at: 1_700_000_000_000,
  operation: 'chat',
  model: 'm/one',
  provider: 'alpha',
  privacyClass: 'private',
  promptTokens: 1,
  cachedTokens: 0,
  completionTokens: 1,
  reasoningTokens: 0,
  attempts: 1,
  fallback: false,
  status: 'completed',
  estimated: false,
  ...changes,
});

/** The environment of a money suite. Use it only within tests and hooks. */
export type MoneyStage = PlanesIn<MoneyWorld>;

export interface MoneyWorld {
  readonly alpha: ScriptedProvider;
  readonly beta: ScriptedProvider;
  readonly quick: ScriptedProvider;
  readonly setup: PlanesSetup;
}

/** Starts two scripted providers, and models at various prices. */
export async function startMoneyWorld(): Promise<MoneyWorld> {
  const alpha = await startScriptedProvider('alpha');
  const beta = await startScriptedProvider('beta');
  const quick = await startScriptedProvider('quick');
  const entry = (id: string, { baseUrl }: ScriptedProvider, totalMs = 20_000): object =>
    // The last candidate has no first-byte limit, only the idle limit and the total limit.
    providerEntry(id, baseUrl, {
      timeouts: { connect_ms: 1000, first_byte_ms: 1500, idle_ms: 2000, total_ms: totalMs },
    });
  const route = (provider: string, pricing: Pricing, capabilities: object = {}): object =>
    routeEntry(provider, { ...pricing }, { upstream_model: `${provider}-own`, capabilities });
  const text = (id: string, ...routes: readonly object[]): object => textModel(id, routes, { max_output_tokens: 4000 });
  const thinks = { reasoning: { efforts: ['low', 'high'], can_disable: true } };
  // However busy the machine is, these have the time to fail. Nothing reaches `narrow`, whose API takes at most five stops.
  const patient = [
    providerEntry('narrow', alpha.baseUrl, { adapter: 'google' }),
    providerEntry('alpha/eu', alpha.baseUrl),
    providerEntry('quick/eu', quick.baseUrl),
  ];
  const models = [
    ...Object.entries(pricings).map(([id, pricing]) => text(id, route('alpha', pricing))),
    text('m/two', route('alpha', twoPricings.alpha), route('beta', twoPricings.beta)),
    text('m/patient', ...patient.map(({ id }) => route(id, quickPricing)), route('beta', twoPricings.beta)),
    text('m/unhurried', route('alpha/eu', quickPricing)),
    text('m/quick', route('quick', quickPricing)),
    text('m/thinks', route('alpha', hidingPricing, thinks)),
    text('m/thinks-quick', route('quick', hidingPricing, thinks)),
    text('m/sees', route('alpha', hidingPricing, { vision: true })),
    text('m/dear', route('alpha', dearPricing)),
    { id: 'm/embed', model_type: 'embedding', context_length: 8000, routes: [route('alpha', embedPricing)] },
  ];
  return {
    alpha,
    beta,
    quick,
    setup: {
      ...filesOf([entry('alpha', alpha), entry('beta', beta), entry('quick', quick, quickTotalMs), ...patient], models),
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
