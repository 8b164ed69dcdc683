import { sha256 } from '@noble/hashes/sha2.js';
import { expect, it } from 'vitest';
import { toHex } from '../bytes.ts';
import { canonicalJson } from './canonical-json.ts';

it('writes members in the order of their code units, without white space', () => {
  expect(canonicalJson({ b: [1, true, null], a: { '\u20ac': 'é"\n', A: -7 }, '': '' })).toBe(
    '{"":"","a":{"A":-7,"€":"é\\"\\n"},"b":[1,true,null]}',
  );
  // RFC 8785 3.2.3: code units, not code points, so that a surrogate pair comes before U+FB33.
  expect(canonicalJson({ '\ufb33': 1, '\ud83d\ude02': 2 })).toBe('{"\ud83d\ude02":2,"\ufb33":1}');
});

it('agrees with the published digest of a key set of the Attested Confidential Inference specification', () => {
  const keySet = {
    subject: 'dstack-app://example-app',
    tls_public_keys: [{ spki_sha256: 'c0'.repeat(32), domain: 'api.example.com' }],
    receipt_signing_keys: [
      {
        public_key: '8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394',
        key_id: 'receipt-1',
        algo: 'ed25519',
      },
    ],
    not_after: 1_800_000_000,
    e2ee_public_keys: [
      {
        algo: 'x25519-aes-256-gcm-hkdf-sha256',
        key_id: 'e2ee-1',
        public_key: '5dfedd3b6bd47f6fa28ee15d969d5bb0ea53774d488bdaf9df1c6e0124b3ef22',
      },
    ],
  };
  expect(toHex(sha256(new TextEncoder().encode(canonicalJson(keySet))))).toBe(
    '53a5cd44b30dcc51999754c719f2628a041f174ecbf9662a6f8e898a10cd9371',
  );
});

it.each([
  ['a fraction', { a: 0.5 }],
  ['a number that is too large', { a: 2 ** 53 }],
  ['minus zero', { a: -0 }],
  ['not a number', [Number.NaN]],
  ['half a character', { a: '\ud83d' }],
  ['half a character in a name', { '\ude02': 1 }],
  ['nothing', { a: undefined }],
  ['a large integer', { a: 1n }],
])('refuses %s', (_, value) => {
  expect(() => canonicalJson(value)).toThrow('a document has');
});

it('refuses nesting beyond sixteen levels, however deep', () => {
  const nested = (levels: number): unknown => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1);
  expect(canonicalJson(nested(16))).toBe(`${'['.repeat(16)}1${']'.repeat(16)}`);
  for (const levels of [17, 5000]) expect(() => canonicalJson(nested(levels))).toThrow('nested too deeply');
});
