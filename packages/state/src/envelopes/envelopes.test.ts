import { randomBytes, randomUUID } from 'node:crypto';
import { initialPreferences } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { openAccountRef, sealAccountRef } from './account-ref.ts';
import { apiKeyKind, createApiKey, hashSecret } from './api-key.ts';
import { type Settlement, signSettlement, verifySettlement } from './settlement.ts';
import { bindingsOf, openTicket, sealTicket, type TicketEnvelope } from './ticket.ts';

const key = randomBytes(32);
const ref = { accountId: randomUUID(), workspaceId: randomUUID(), keyId: randomUUID() };

describe('API keys', () => {
  it('tell their kind, and a changed character is told from a key', () => {
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
  it('have one length, are fresh each time, and open for control alone', () => {
    const sealed = Array.from({ length: 20 }, () => sealAccountRef(key, ref));
    expect(new Set(sealed).size).toBe(20);
    expect(new Set(sealed.map((text) => text.length)).size).toBe(1);
    expect(openAccountRef(key, sealed[0] ?? '')).toEqual(ref);
    expect(openAccountRef(randomBytes(32), sealed[0] ?? '')).toBeUndefined();
  });
});

describe('tickets', () => {
  const envelope: TicketEnvelope = {
    v: 1,
    shard: 3,
    generation: 7,
    expiresAt: 1_800_000_000_000,
    bindings: bindingsOf({ operation: 'chat', model: 'acme/small', reasoning: {} }),
    preferences: initialPreferences,
    accountRef: sealAccountRef(key, ref),
  };

  it('open to what was sealed, and to nothing when a bit or the key differs', () => {
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

  it('open with either of two keys while one replaces the other', () => {
    const other = randomBytes(32);
    const tickets = [sealTicket(key, envelope), sealTicket(other, envelope)];
    for (const keys of [
      [key, other],
      [other, key],
    ] as const)
      for (const ticket of tickets) expect(openTicket(keys, ticket)).toEqual(envelope);
    expect(openTicket([other], tickets[0] ?? '')).toBeUndefined();
  });

  it('stay short enough for a header however long the workspace lists are', () => {
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
  const settlement: Settlement = {
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
  };

  it('are believed only with the MAC of the broker', () => {
    const signed = signSettlement(key, settlement);
    expect(verifySettlement(key, signed)).toEqual(settlement);
    expect(verifySettlement(key, { ...signed, payload: signed.payload.replace('"12"', '"13"') })).toBeUndefined();
    expect(verifySettlement(randomBytes(32), signed)).toBeUndefined();
    expect(verifySettlement(key, { payload: 'garbage', mac: signed.mac })).toBeUndefined();
    expect(verifySettlement([randomBytes(32), key], signed)).toEqual(settlement);
    expect(verifySettlement([randomBytes(32), randomBytes(32)], signed)).toBeUndefined();
  });
});
