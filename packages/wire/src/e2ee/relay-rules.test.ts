import { describe, expect, it } from 'vitest';
import { e2eeFamilies, relayHeaders, relayRules } from './relay-rules.ts';

const hex = (digits: number): string => 'a'.repeat(digits);
const pick = (family: Parameters<typeof relayHeaders>[0], headers: Record<string, string | string[]>) =>
  relayHeaders(family, (name) => headers[name]);

const near = {
  'x-signing-algo': 'ed25519',
  'x-client-pub-key': hex(64),
  'x-model-pub-key': hex(64),
  'x-encryption-version': '2',
  'x-encrypt-all-fields': 'true',
};

describe('the headers that a relay passes on', () => {
  it('are those of the variant that fits, byte for byte, and no others', () => {
    const picked = pick('near', { ...near, authorization: 'Bearer mine', 'x-router-ticket': 't', cookie: 'c' });
    expect(picked).toEqual({
      ok: true,
      headers: Object.entries(near).flat(),
      variant: expect.objectContaining({ fieldOverheadBytes: 72 }),
    });
  });

  it('tell the variants of a family apart', () => {
    const common = { 'x-e2ee-version': '2', 'x-e2ee-timestamp': '1750000000' };
    const overhead = (headers: Record<string, string>) => {
      const picked = pick('phala', { ...common, ...headers });
      return picked.ok ? picked.variant.fieldOverheadBytes : picked.header;
    };
    const gateway = { 'x-client-pub-key': hex(64), 'x-model-pub-key': hex(64), 'x-e2ee-nonce': hex(64) };
    expect(overhead(gateway)).toBe(60);
    expect(overhead({ ...gateway, 'x-client-pub-key': hex(130), 'x-model-pub-key': hex(130) })).toBe(93);
    expect(overhead({ ...gateway, 'x-e2ee-nonce': hex(32), 'x-signing-algo': 'ed25519' })).toBe(60);
    // A header of another variant is not passed on: it would have the gateway read another protocol.
    const mixed = pick('phala', { ...common, ...gateway, 'x-signing-algo': 'ed25519' });
    expect(mixed.ok && mixed.headers).not.toContain('x-signing-algo');
  });

  it.each([
    ['x-client-pub-key', 'the user is Ann'],
    ['x-client-pub-key', hex(63)],
    ['x-client-pub-key', hex(64).toUpperCase()],
    ['x-encryption-version', '1'],
    ['x-encrypt-all-fields', 'false'],
  ])('are refused by name: %s: %s', (name, value) => {
    expect(pick('near', { ...near, [name]: value })).toEqual({ ok: false, header: name });
  });

  it('are refused where they are missing or come twice', () => {
    expect(pick('near', { ...near, 'x-model-pub-key': [hex(64), hex(64)] })).toMatchObject({ ok: false });
    for (const family of e2eeFamilies) expect(pick(family, {})).toMatchObject({ ok: false });
  });

  it('hold no place for text: each has a fixed form', () => {
    for (const family of e2eeFamilies) {
      for (const { requestHeaders } of relayRules[family].variants) {
        for (const [name, form] of Object.entries(requestHeaders)) {
          for (const text of ['hello there', '', 'aaaa\r\nx: y', `${hex(64)} hello`]) {
            expect(form.test(text), `${family} ${name}: ${text}`).toBe(false);
          }
        }
      }
    }
  });

  it('of Chutes lead to the chat endpoint alone', () => {
    const chutes = {
      'x-chute-id': '6f1e5a52-0c0e-5c57-9a37-08e1c4f3a6b1',
      'x-instance-id': '0d9b7a38-9d1e-4d32-9b86-3a3c5a7f20de',
      'x-e2e-nonce': 'a1b2c3d4e5f6',
      'x-e2e-stream': 'true',
      'x-e2e-path': '/v1/chat/completions',
    };
    expect(pick('chutes', chutes)).toMatchObject({ ok: true });
    expect(pick('chutes', { ...chutes, 'x-e2e-path': '/v1/files' })).toEqual({ ok: false, header: 'x-e2e-path' });
  });
});
