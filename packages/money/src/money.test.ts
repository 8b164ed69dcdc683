import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nusdToDecimal, nusdToUsd, shiftDecimal, usdPerMillionToPico, usdToNusd } from './amounts.ts';
import { cost, noUsage, type Usage } from './cost.ts';
import { dearestCost, isFree } from './hold.ts';
import { meter } from './meter.ts';
import { type Price, pricesAt } from './price.ts';
import { availableNusd, booked, hold, settle, withFunds } from './wallet.ts';

const price: Price = { input: 500_000, output: 1_500_000, cachedInput: 50_000 };
const usage = (fields: Partial<Usage>): Usage => ({ ...noUsage, ...fields });

describe('amounts', () => {
  it('converts decimals exactly, and refuses decimals that it would have to round', () => {
    expect(usdToNusd(0.1)).toBe(100_000_000n);
    expect(usdToNusd(10)).toBe(10_000_000_000n);
    expect(usdPerMillionToPico(0.05)).toBe(50_000);
    expect(usdPerMillionToPico(0.0375)).toBe(37_500);
    expect(usdPerMillionToPico(0.0000001)).toBeUndefined();
    expect(usdToNusd(1e-10)).toBeUndefined();
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e10]) expect(usdToNusd(bad)).toBeUndefined();
    expect(nusdToUsd(1_234_567_890n)).toBe(1.23456789);
  });

  it('converts every price of six decimals exactly', () => {
    fc.assert(
      fc.property(fc.nat(2_000_000_000), (micro) => {
        expect(usdPerMillionToPico(Number(`${Math.floor(micro / 1e6)}.${String(micro % 1e6).padStart(6, '0')}`))).toBe(
          micro,
        );
      }),
    );
  });
});

describe('amounts as text', () => {
  it.each([
    [0n, '0'],
    [1n, '0.000000001'],
    [35_000n, '0.000035'],
    [1_500_000_000n, '1.5'],
    [-2_000_000_000n, '-2'],
    [-1n, '-0.000000001'],
    [9_007_199_254_740_991n, '9007199.254740991'],
  ])('%s nano-USD are %s', (amount, text) => {
    expect(nusdToDecimal(amount)).toBe(text);
  });
});

describe('cost', () => {
  it('is price × usage, rounded up once', () => {
    expect(cost(usage({ promptTokens: 1000, completionTokens: 200 }), price)).toBe(800_000n);
    expect(cost(usage({ promptTokens: 1 }), { input: 1, output: 0 })).toBe(1n);
    expect(cost(noUsage, price)).toBe(0n);
  });

  it('charges cached input at its own price', () => {
    expect(cost(usage({ promptTokens: 1000, cachedTokens: 400 }), price)).toBe(600n * 500n + 400n * 50n);
  });

  it('charges cache writes and reasoning at their own prices, if set', () => {
    const dear: Price = { ...price, cacheWrite: 625_000, reasoning: 3_000_000 };
    const used = usage({ promptTokens: 100, cacheWriteTokens: 40, completionTokens: 50, reasoningTokens: 20 });
    expect(cost(used, dear)).toBe((60n * 500_000n + 40n * 625_000n + 30n * 1_500_000n + 20n * 3_000_000n) / 1000n);
    expect(cost(used, price)).toBe((100n * 500_000n + 50n * 1_500_000n) / 1000n);
  });

  it('charges images by the piece, and speech by the character', () => {
    const paint: Price = { input: 0, output: 0, image: 40_000_000_000 };
    expect(cost(usage({ images: 3 }), paint)).toBe(120_000_000n);
    const voice: Price = { input: 0, output: 0, inputCharacter: 15_000_000 };
    expect(cost(usage({ inputCharacters: 1_000_000 }), voice)).toBe(15_000_000_000n);
    expect(cost(usage({ inputCharacters: 1 }), voice)).toBe(15_000n);
  });

  it('clamps cached and cache-write tokens that exceed the prompt', () => {
    const used = usage({ promptTokens: 100, cachedTokens: 90, cacheWriteTokens: 90 });
    expect(cost(used, price)).toBe(90n * 50n + 10n * 500n);
    expect(cost(usage({ promptTokens: 10, cachedTokens: 500 }), price)).toBe(10n * 50n);
  });

  it('applies the tier of the prompt size to the whole request', () => {
    const tiered: Price = { ...price, tiers: [{ abovePromptTokens: 200_000, input: 1_000_000, output: 2_250_000 }] };
    expect(pricesAt(tiered, 200_000)).toMatchObject({ input: 500_000, output: 1_500_000 });
    expect(pricesAt(tiered, 200_001)).toMatchObject({ input: 1_000_000, output: 2_250_000 });
  });

  it('charges cached tokens at the price of the tier if set, else at the base price', () => {
    const long = usage({ promptTokens: 300_000, cachedTokens: 300_000 });
    const tier = { abovePromptTokens: 200_000, input: 1_000_000 };
    expect(cost(long, { ...price, tiers: [tier] })).toBe(300_000n * 50n);
    expect(cost(long, { ...price, tiers: [{ ...tier, cachedInput: 100_000 }] })).toBe(300_000n * 100n);
    const written = usage({ promptTokens: 300_000, cacheWriteTokens: 300_000 });
    expect(cost(written, { ...price, tiers: [{ ...tier, cacheWrite: 2_000_000 }] })).toBe(300_000n * 2000n);
  });
});

const tokens = fc.nat(2_000_000);
const pico = fc.nat(100_000_000);
const anyPrice: fc.Arbitrary<Price> = fc.record(
  {
    input: pico,
    output: pico,
    cachedInput: pico,
    cacheWrite: pico,
    reasoning: pico,
    image: pico,
    inputCharacter: pico,
    tiers: fc
      .array(
        fc.record(
          { abovePromptTokens: tokens, input: pico, output: pico, cachedInput: pico, cacheWrite: pico },
          { requiredKeys: ['abovePromptTokens'] },
        ),
        { maxLength: 3 },
      )
      .map((tiers) => tiers.sort((a, b) => a.abovePromptTokens - b.abovePromptTokens)),
  },
  { requiredKeys: ['input', 'output'] },
);
const anyUsage: fc.Arbitrary<Usage> = fc.record({
  promptTokens: tokens,
  cachedTokens: tokens,
  cacheWriteTokens: tokens,
  completionTokens: tokens,
  reasoningTokens: tokens,
  images: fc.nat(10),
  inputCharacters: fc.nat(20_000),
});

describe('a hold', () => {
  it('bounds the cost of every usage within its token bounds', () => {
    fc.assert(
      fc.property(anyUsage, anyPrice, fc.nat(1000), fc.nat(1000), (used, priced, slackIn, slackOut) => {
        const bounds = {
          promptTokens: used.promptTokens + slackIn,
          completionTokens: used.completionTokens + slackOut,
          images: used.images ?? 0,
          inputCharacters: used.inputCharacters ?? 0,
        };
        expect(cost(used, priced) <= dearestCost(bounds, priced)).toBe(true);
      }),
    );
  });

  it.each<[string, Partial<Price>, boolean]>([
    ['nothing', {}, true],
    ['a price above a prompt size', { tiers: [{ abovePromptTokens: 1_000_000, input: 1 }] }, false],
    ['a price of reasoning only', { reasoning: 1 }, false],
    ['a price of images only', { image: 1 }, false],
    ['a price of characters only', { inputCharacter: 1 }, false],
  ])('tells whether a route is free: %s', (_, more, free) => {
    expect(isFree({ input: 0, output: 0, ...more })).toBe(free);
  });
});

describe('a wallet', () => {
  const start = { fundsNusd: 100n, version: 1, heldNusd: 0n, unbookedNusd: 0n };

  it('admits holds up to exactly its balance', () => {
    const held = hold(start, 100n);
    expect(held && availableNusd(held)).toBe(0n);
    expect(held && hold(held, 1n)).toBeUndefined();
    expect(hold(start, 101n)).toBeUndefined();
  });

  it('counts a charge against the balance until the ledger has booked it, in any order of messages', () => {
    const held = hold(start, 60n);
    if (held === undefined) throw new Error('not held');
    const charged = settle(held, 60n, 40n);
    expect(availableNusd(charged)).toBe(60n);
    expect(availableNusd(booked(withFunds(charged, 60n, 2), 40n))).toBe(60n);
    expect(availableNusd(withFunds(charged, 60n, 2))).toBe(20n);
  });

  it('ignores an older balance', () => {
    expect(withFunds(withFunds(start, 50n, 3), 80n, 2).fundsNusd).toBe(50n);
  });
});

describe('meter', () => {
  const counted = { promptTokens: 100, producedBytes: 401 };
  const reported = usage({ promptTokens: 90, completionTokens: 70 });
  const bounds = { promptTokens: 1000, completionTokens: 1000, images: 1, inputCharacters: 7 };
  const reading = { reported, counted, bounds, price, holdNusd: 10_000_000n };

  it("charges the provider's own usage", () => {
    expect(meter({ ...reading, end: 'completed' })).toMatchObject({
      chargeNusd: 90n * 500n + 70n * 1500n,
      estimated: false,
    });
  });

  it('counts relayed output when the provider reports nothing, and marks it as estimated', () => {
    const metered = meter({ ...reading, reported: undefined, end: 'client_left' });
    expect(metered).toMatchObject({ estimated: true, chargeNusd: 100n * 500n + 101n * 1500n });
  });

  it('counts a prompt that the provider reports as no tokens, and marks it as estimated', () => {
    const cached = usage({ promptTokens: 0, completionTokens: 70 });
    expect(meter({ ...reading, reported: cached, end: 'completed' })).toMatchObject({
      usage: { promptTokens: 100, completionTokens: 70 },
      estimated: true,
      chargeNusd: 100n * 500n + 70n * 1500n,
    });
  });

  it('charges nothing when the provider breaks the answer or nothing began', () => {
    expect(meter({ ...reading, end: 'provider_broke' }).chargeNusd).toBe(0n);
    expect(meter({ ...reading, end: 'no_output' })).toMatchObject({ chargeNusd: 0n, usage: noUsage });
    expect(meter({ ...reading, end: 'provider_broke_while_held_back' }).chargeNusd).toBeGreaterThan(0n);
  });

  it('charges a flat price in full once output began, and nothing when the provider breaks it', () => {
    const speech = { reported: { ...noUsage, inputCharacters: 7 }, counted: { promptTokens: 0, producedBytes: 0 } };
    const spoken = { ...reading, ...speech, price: { input: 0, output: 0, inputCharacter: 15_000_000 } };
    for (const end of [
      'completed',
      'client_left',
      'provider_broke_while_held_back',
      'shut_down_while_held_back',
      'total_time_ran_out',
    ] as const)
      expect(meter({ ...spoken, end })).toMatchObject({ chargeNusd: 105_000n, excessNusd: 0n, estimated: false });
    for (const end of ['provider_broke', 'shut_down', 'no_output'] as const)
      expect(meter({ ...spoken, end }).chargeNusd).toBe(0n);
    const image = {
      ...spoken,
      reported: { ...noUsage, images: 1 },
      price: { input: 0, output: 0, image: 40_000_000_000 },
    };
    expect(meter({ ...image, holdNusd: 40_000_000n, end: 'completed' }).chargeNusd).toBe(40_000_000n);
  });

  it('lets the ledger waive the charge of a client that left before any output, prompt included', () => {
    const given = {
      ...reading,
      reported: undefined,
      counted: { promptTokens: 100, producedBytes: 0, hiddenTokens: 0 },
    };
    expect(meter({ ...given, end: 'client_left_before_output' })).toMatchObject({
      chargeNusd: 100n * 500n,
      estimated: true,
      waivable: true,
    });
    // The answer had begun, with output that has no text, such as encrypted reasoning.
    for (const reported of [undefined, usage({ promptTokens: 100 })]) {
      expect(meter({ ...given, reported, end: 'client_left' })).toMatchObject({
        chargeNusd: 100n * 500n,
        waivable: true,
      });
    }
    expect(meter({ ...given, end: 'total_time_ran_out' })).toMatchObject({ chargeNusd: 0n, waivable: false });
  });

  it('estimates the tokens of text by the density of its route', () => {
    const given = { ...reading, reported: undefined, counted: { ...counted, tokensPerByte: 0.5 } };
    expect(meter({ ...given, end: 'client_left' })).toMatchObject({
      usage: { completionTokens: 201 },
      estimated: true,
    });
  });

  it('adds hidden output to shown output', () => {
    const counts = { promptTokens: 100, producedBytes: 401, hiddenTokens: 300 };
    expect(meter({ ...reading, reported: undefined, counted: counts, end: 'client_left' })).toMatchObject({
      usage: { completionTokens: 101 + 300 },
      estimated: true,
    });
  });

  it('limits counts to the bounds of the hold, and reports the excess that the operator pays', () => {
    const absurd = Number.MAX_SAFE_INTEGER;
    const inflated = usage({
      ...{ promptTokens: absurd, cachedTokens: absurd, cacheWriteTokens: absurd },
      ...{ completionTokens: absurd, reasoningTokens: absurd },
    });
    const metered = meter({ ...reading, reported: inflated, end: 'completed' });
    expect(metered.usage).toEqual({
      ...{ promptTokens: 1000, cachedTokens: 1000, cacheWriteTokens: 0 },
      ...{ completionTokens: 1000, reasoningTokens: 1000 },
    });
    expect(metered.chargeNusd).toBe(cost(metered.usage, price));
    expect(metered.excessNusd).toBe(cost(inflated, price) - metered.chargeNusd);
  });

  it('never charges more than the hold', () => {
    expect(meter({ ...reading, end: 'completed', holdNusd: 5n })).toMatchObject({
      chargeNusd: 5n,
      excessNusd: 149_995n,
    });
  });
});

describe('shiftDecimal', () => {
  it.each([
    ['0.00000015', 6, '0.15'],
    ['0.000002', 6, '2'],
    ['0.0000004', 6, '0.4'],
    ['1.5e-7', 6, '0.15'],
    ['2E-06', 6, '2'],
    ['0', 6, '0'],
    ['0.000', 6, '0'],
    ['-0', 6, undefined],
    ['3', 6, '3000000'],
    ['.5', 0, '0.5'],
    ['5.', 0, '5'],
    ['007.10', 0, '7.1'],
    ['12.5', -3, '0.0125'],
    ['12', -1, '1.2'],
    ['0.00000000000015', 6, '0.00000015'],
    [' 0.5 ', 0, '0.5'],
    ['-1', 6, undefined],
    ['', 6, undefined],
    ['.', 6, undefined],
    ['1,5', 6, undefined],
    ['free', 6, undefined],
    ['NaN', 6, undefined],
    ['Infinity', 6, undefined],
    ['1e999', 6, undefined],
    ['0x10', 6, undefined],
  ])('%s by %i places is %s', (text, places, shifted) => {
    expect(shiftDecimal(text, places)).toBe(shifted);
  });

  it('is exact: shifting back gives the same digits', () => {
    const anyDigits = fc.stringMatching(/^[1-9][0-9]{0,20}$/);
    fc.assert(
      fc.property(anyDigits, fc.integer({ min: -20, max: 20 }), (digits, places) => {
        expect(shiftDecimal(shiftDecimal(digits, places) ?? '', -places)).toBe(digits);
        expect(shiftDecimal(`${digits}e${places}`, 0)).toBe(shiftDecimal(digits, places));
      }),
    );
  });
});
