import { randomBytes, randomUUID } from 'node:crypto';
import { attemptErrors, initialPreferences } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openAccountRef, sealAccountRef } from './account-ref.ts';
import { apiKeyKind, createApiKey, hashSecret } from './api-key.ts';
import { openReceipt, receiptIdOf, sealReceipt } from './receipt.ts';
import {
  type Settlement,
  signSettlement,
  type ToldSettlement,
  toldSettlementSchema,
  verifySettlement,
} from './settlement.ts';
import { bindingsOf, openTicket, roundedExpiry, sealTicket, type TicketEnvelope } from './ticket.ts';

const key = randomBytes(32);
const ref = { accountId: randomUUID(), workspaceId: randomUUID(), keyId: randomUUID() };

describe('API keys', () => {
  it('show their kind, and a changed character makes them invalid', () => {
    const made = createApiKey('inference');
    expect(made).toMatch(/^sotto_inf_[\w-]{49}$/);
    expect(apiKeyKind(made)).toBe('inference');
    expect(apiKeyKind(createApiKey('management'))).toBe('management');
    expect(apiKeyKind(`${made.slice(0, 20)}${made[20] === 'x' ? 'y' : 'x'}${made.slice(21)}`)).toBeUndefined();
    expect(apiKeyKind(made.slice(0, -1))).toBeUndefined();
    expect(apiKeyKind('sk-anything')).toBeUndefined();
    expect(hashSecret(made)).not.toContain(made.slice(10, 30));
  });
});

describe('account references', () => {
  it('have one length, differ each time, and only control can open them', () => {
    const tagged = { ...ref, tagId: randomUUID() };
    const sealed = Array.from({ length: 20 }, (_, index) => sealAccountRef(key, index < 10 ? ref : tagged));
    expect(new Set(sealed).size).toBe(20);
    expect(new Set(sealed.map((text) => text.length)).size).toBe(1);
    expect(openAccountRef(key, sealed[0] ?? '')).toEqual(ref);
    expect(openAccountRef(key, sealed[19] ?? '')).toEqual(tagged);
    expect(openAccountRef(randomBytes(32), sealed[0] ?? '')).toBeUndefined();
  });
});

describe('tickets', () => {
  const envelope: TicketEnvelope = {
    v: 1,
    shard: 3,
    expiresAt: roundedExpiry(1_800_000_000_000),
    bindings: bindingsOf({ operation: 'chat', model: 'acme/small', reasoning: {} }),
    preferences: { ...initialPreferences, provider_allow: ['acme'] },
    accountRef: sealAccountRef(key, ref),
  };

  it('open to their content, and not at all if a bit or the key differs', () => {
    const ticket = sealTicket(key, envelope);
    expect(openTicket(key, ticket)).toEqual(envelope);
    expect(openTicket(randomBytes(32), ticket)).toBeUndefined();
    for (let at = 10; at < ticket.length; at += 37) {
      const other = ticket[at] === 'A' ? 'B' : 'A';
      expect(openTicket(key, ticket.slice(0, at) + other + ticket.slice(at + 1))).toBeUndefined();
    }
    for (const bad of ['', 'sotto_tkt_', 'sotto_tkt_AAAA', 'x'.repeat(500)])
      expect(openTicket(key, bad)).toBeUndefined();
  });

  it('open with either key during a rotation', () => {
    const other = randomBytes(32);
    const tickets = [sealTicket(key, envelope), sealTicket(other, envelope)];
    for (const keys of [
      [key, other],
      [other, key],
    ] as const)
      for (const ticket of tickets) expect(openTicket(keys, ticket)).toEqual(envelope);
    expect(openTicket([other], tickets[0] ?? '')).toBeUndefined();
  });

  it('have one of few lengths, so that the length does not reveal the workspace', () => {
    const lengthOf = (providers: number): number => {
      const provider_allow = Array.from({ length: providers }, (_, index) => `provider-${index}`);
      return sealTicket(key, { ...envelope, preferences: { ...initialPreferences, provider_allow } }).length;
    };
    const lengths = Array.from({ length: 150 }, (_, providers) => lengthOf(providers));
    // The prefix, then 1024 or 2048 bytes with nonce and tag, in base64url.
    expect([...new Set(lengths)]).toEqual([1413, 2778]);
  });

  it('round their expiry to the hour, so that it does not link tickets that were issued together', () => {
    const bought = Date.UTC(2027, 0, 15, 8, 20, 0, 123);
    expect(roundedExpiry(bought)).toBe(Date.UTC(2027, 0, 15, 9));
    expect(roundedExpiry(bought + 1)).toBe(roundedExpiry(bought));
    expect(roundedExpiry(Date.UTC(2027, 0, 15, 9))).toBe(Date.UTC(2027, 0, 15, 9));
  });

  it('have no `auto` preferences unless they are for `/auto`, and give the same plan', () => {
    const { auto: _, ...withoutAuto } = initialPreferences;
    const opened = openTicket(key, sealTicket(key, { ...envelope, preferences: withoutAuto }));
    expect(opened?.preferences).toEqual(initialPreferences);
  });

  it('fit into a header, however long the lists of the workspace are', () => {
    const ids = Array.from({ length: 500 }, (_, i) => `creator-${i}/model-number-${i}`);
    const preferences = {
      ...initialPreferences,
      auto: { ...initialPreferences.auto, models: { mode: 'only' as const, ids } },
    };
    const ticket = sealTicket(key, { ...envelope, preferences });
    expect(ticket.length).toBeLessThan(12_000);
    expect(openTicket(key, ticket)?.preferences).toEqual(preferences);
  });

  it('bind the meaning of a policy, not its spelling', () => {
    const bind = (provider: Parameters<typeof bindingsOf>[0]['provider']) =>
      bindingsOf({ operation: 'chat', model: 'm/n', reasoning: {}, provider }).policy;
    expect(bind('acme')).toBe(bind({ only: ['acme'], allow_fallbacks: false }));
    expect(bind(undefined)).toBe(bind({}));
    expect(bind({ only: ['a', 'b'] })).toBe(bind({ only: ['b', 'a'] }));
    expect(bind({ order: ['a', 'b'] })).not.toBe(bind({ order: ['b', 'a'] }));
    expect(bind({ max_attempts: 2 })).not.toBe(bind({ max_attempts: 1 }));
  });
});

describe('settlements', () => {
  const settlement: ToldSettlement = {
    v: 1,
    id: 'h1',
    kind: 'charge',
    accountRef: 'x',
    chargeNusd: '12',
    at: 60_000,
    operation: 'chat',
    model: 'a/b',
    provider: 'acme',
    privacyClass: 'private',
    promptTokens: 1,
    cachedTokens: 0,
    completionTokens: 2,
    reasoningTokens: 0,
    attempts: 1,
    fallback: false,
    status: 'completed',
    estimated: false,
    month: '1970-01',
  };

  it('are accepted only with the MAC of the broker', () => {
    const signed = signSettlement(key, settlement);
    expect(verifySettlement(key, signed)).toEqual(settlement);
    expect(verifySettlement(key, { ...signed, payload: signed.payload.replace('"12"', '"13"') })).toBe('bad_mac');
    expect(verifySettlement(randomBytes(32), signed)).toBe('bad_mac');
    expect(verifySettlement(key, { payload: 'garbage', mac: signed.mac })).toBe('bad_mac');
    expect(verifySettlement([randomBytes(32), key], signed)).toEqual(settlement);
    expect(verifySettlement([randomBytes(32), randomBytes(32)], signed)).toBe('bad_mac');
  });

  it('that are quiet have nothing but what is booked', () => {
    const { id, kind, accountRef, chargeNusd, at, month } = settlement;
    const quiet: Settlement = { v: 2, id, kind, accountRef, chargeNusd, at, month };
    expect(verifySettlement(key, signSettlement(key, quiet))).toEqual(quiet);
    for (const more of [{ promptTokens: 1 }, { firstToken: 0 }, { model: 'a/b' }])
      expect(verifySettlement(key, signSettlement(key, { ...quiet, ...more } as Settlement))).toBe('unknown_form');
  });

  it('are read by a version that does not know their class of error, and by one that knows fewer', () => {
    const failed: ToldSettlement = { ...settlement, status: 'failed', error: 'timeout' };
    const read = verifySettlement(key, signSettlement(key, failed));
    expect(read).toMatchObject({ error: 'timeout' });
    const { payload } = signSettlement(key, failed);
    expect(toldSettlementSchema.omit({ error: true }).parse(JSON.parse(payload))).toEqual({
      ...failed,
      error: undefined,
    });
    const later = signSettlement(key, { ...failed, error: 'weather' } as unknown as ToldSettlement);
    expect(verifySettlement(key, later)).toEqual({ ...failed, error: undefined });
  });

  const provider = fc.constantFrom('acme', 'acme/eu', 'other', 'x'.repeat(64));
  const attemptsWith = (error: fc.Arbitrary<unknown>, maxLength: number) =>
    fc.array(fc.record({ provider, error }), { minLength: 1, maxLength });
  const read = (failedAttempts: unknown) =>
    verifySettlement(key, signSettlement(key, { ...settlement, failedAttempts } as ToldSettlement));

  it('keep their failed attempts, under the MAC; a version that does not know them reads the rest', () => {
    fc.assert(
      fc.property(attemptsWith(fc.constantFrom(...attemptErrors), 8), (failedAttempts) => {
        const signed = signSettlement(key, { ...settlement, failedAttempts } as ToldSettlement);
        expect(verifySettlement(key, signed)).toEqual({ ...settlement, failedAttempts });
        expect(toldSettlementSchema.omit({ failedAttempts: true }).parse(JSON.parse(signed.payload))).toEqual(
          settlement,
        );
        const moved = { ...signed, payload: signed.payload.replace(/"(acme|other|x)/, '"z$1') };
        expect(verifySettlement(key, moved)).toBe('bad_mac');
      }),
    );
  });

  it('read a class of a failed attempt that they do not know as `provider`, such as a refusal', () => {
    const strange = fc.oneof(fc.constantFrom('request', 'cancelled', 'weather'), fc.jsonValue());
    fc.assert(
      fc.property(attemptsWith(strange, 8), (attempts) => {
        const known = (error: unknown) => attemptErrors.find((each) => each === error) ?? 'provider';
        const expected = attempts.map((one) => ({ provider: one.provider, error: known(one.error) }));
        expect(read(attempts)).toMatchObject({ failedAttempts: expected });
      }),
    );
  });

  it('are read without failed attempts that no ledger could keep', () => {
    const damaged = fc.oneof(
      fc.jsonValue().filter((value) => !Array.isArray(value) || value.length > 0),
      attemptsWith(fc.constant('timeout'), 30).filter(({ length }) => length > 8),
      fc
        .string({ unit: 'binary' })
        .filter((id) => !/^[a-z0-9-]{1,64}(\/[a-z0-9-]{1,64})?$/.test(id))
        .map((id) => [{ provider: id, error: 'timeout' }]),
    );
    fc.assert(
      fc.property(damaged, (attempts) => {
        expect(read(attempts)).toEqual(settlement);
      }),
    );
  });
});

const secret = 'preq_0123456789abcdef';
const document = '{"request_sha256":"aa"}';

it('a receipt can be read only with its secret', () => {
  const sealed = sealReceipt(secret, document);
  expect(openReceipt(secret, sealed)).toBe(document);
  expect(openReceipt(`${secret}0`, sealed)).toBeUndefined();
  expect(openReceipt(receiptIdOf(secret), sealed)).toBeUndefined();
  expect(openReceipt(secret, document)).toBeUndefined();
  expect(Buffer.from(sealed, 'base64').includes('request_sha256')).toBe(false);
  expect(sealReceipt(secret, document)).not.toBe(sealed);
});

it('its id depends on the secret only, and is valid in the state', () => {
  expect(receiptIdOf(secret)).toMatch(/^[0-9a-f]{64}$/);
  expect(receiptIdOf(secret)).toBe(receiptIdOf(secret));
  expect(receiptIdOf(`${secret}0`)).not.toBe(receiptIdOf(secret));
});
