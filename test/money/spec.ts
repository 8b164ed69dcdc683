import type { Pricing } from '../kit/books.ts';
import type { StageSpec } from '../kit/stage/spec.ts';
import { accountRefKey, settlementMacKey } from './settlement.ts';

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
export const embedPricing = { input: 0.02 } as const;

/** The last candidate has no first-byte limit, only the idle limit and the total limit. */
const timeouts = { connect_ms: 1000, first_byte_ms: 1500, idle_ms: 2000, total_ms: 20_000 };
const thinks = { reasoning: { efforts: ['low', 'high'], can_disable: true } };

/** Scripted providers, and models at various prices. */
export const moneySpec: StageSpec = {
  providers: {
    alpha: { server: 'scripted', timeouts },
    beta: { server: 'scripted', timeouts },
    quick: { server: 'scripted', timeouts: { ...timeouts, total_ms: 700 } },
    // However busy the machine is, these have the time to fail. Nothing reaches `narrow`, whose API takes at most five stops.
    narrow: { at: 'alpha', adapter: 'google' },
    'alpha/eu': { at: 'alpha' },
    'quick/eu': { at: 'quick' },
  },
  models: {
    ...Object.fromEntries(Object.entries(pricings).map(([id, pricing]) => [id, { routes: { alpha: { pricing } } }])),
    'm/two': { routes: { alpha: { pricing: twoPricings.alpha }, beta: { pricing: twoPricings.beta } } },
    'm/patient': {
      routes: {
        narrow: { pricing: quickPricing },
        'alpha/eu': { pricing: quickPricing },
        'quick/eu': { pricing: quickPricing },
        beta: { pricing: twoPricings.beta },
      },
    },
    'm/unhurried': { routes: { 'alpha/eu': { pricing: quickPricing } } },
    'm/quick': { routes: { quick: { pricing: quickPricing } } },
    'm/thinks': { routes: { alpha: { pricing: hidingPricing, capabilities: thinks } } },
    'm/thinks-quick': { routes: { quick: { pricing: hidingPricing, capabilities: thinks } } },
    'm/sees': { routes: { alpha: { pricing: hidingPricing, capabilities: { vision: true } } } },
    'm/dear': { routes: { alpha: { pricing: dearPricing } } },
    'm/embed': { type: 'embedding', context_length: 8000, routes: { alpha: { pricing: embedPricing } } },
  },
  limits: { context_length: 8000, max_output_tokens: 4000 },
  environment: {
    SETTLEMENT_MAC_KEY: settlementMacKey.toString('base64'),
    ACCOUNT_REF_KEY: accountRefKey.toString('base64'),
  },
};
