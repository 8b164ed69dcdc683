import { createPublicKey, verify } from 'node:crypto';
import { keySetDigest, keySetSchema } from '@sotto/attestation';
import { expect, it } from 'vitest';
import type { NamedTlsKeys } from '../tls/tls-keeper.ts';
import { KeySetKeeper, makeReceiptKey } from './key-set-keeper.ts';

const dayMs = 86_400_000;
const origin = 'https://broker.example';
const spki = (digit: string) => digit.repeat(64);

function world(tls?: NamedTlsKeys) {
  let now = 1_800_000_000_000;
  const begin = now;
  let keys = tls && { ...tls, until: begin + tls.until };
  const keeper = new KeySetKeeper({
    origin,
    tlsKeys: keys && (() => keys ?? { spkiSha256: [], until: 0 }),
    receiptKey: makeReceiptKey().named,
    registryDigest: 'ab'.repeat(32),
    now: () => now,
  });
  return {
    keeper,
    endsIn: () => (keeper.current().not_after * 1000 - now) / dayMs,
    pass: (days: number) => {
      now += days * dayMs;
    },
    serve: (spkiSha256: string[], untilDays: number) => {
      keys = { spkiSha256, until: now + untilDays * dayMs };
    },
  };
}

it('names the current and the next key at its origin, the receipt key and the registry', () => {
  const { keeper } = world({ spkiSha256: [spki('1'), spki('2')], until: 20 * dayMs });
  const set = keySetSchema.parse(keeper.current());
  expect(set).toEqual(keeper.current());
  expect(set).toMatchObject({
    service: 'sotto',
    provider_registry_digest: `sha256:${'ab'.repeat(32)}`,
    tls_public_keys: [
      { origin, spki_sha256: spki('1') },
      { origin, spki_sha256: spki('2') },
    ],
    receipt_signing_keys: [{ algorithm: 'ed25519' }],
    e2ee_public_keys: [],
  });
});

it('ends with the first of its keys, and after 30 days at the latest', () => {
  expect(world({ spkiSha256: [spki('1')], until: 3 * dayMs }).endsIn()).toBeCloseTo(3);
  expect(world({ spkiSha256: [spki('1')], until: 365 * dayMs }).endsIn()).toBeCloseTo(30);
  expect(world().endsIn()).toBeCloseTo(30);
});

it('stays byte for byte while nothing changes, and is renewed long before it ends', () => {
  const { keeper, pass, endsIn } = world();
  const digest = () => keySetDigest(keeper.current());
  const first = digest();
  pass(14);
  expect(digest()).toBe(first);
  pass(2);
  expect(digest()).not.toBe(first);
  for (let day = 0; day < 100; day += 1) {
    pass(1);
    expect(endsIn()).toBeGreaterThan(13);
  }
});

it('changes at once with the keys', () => {
  const { keeper, serve } = world({ spkiSha256: [spki('1')], until: 20 * dayMs });
  const before = keeper.current();
  serve([spki('1'), spki('2')], 31);
  expect(keeper.current().tls_public_keys.map(({ spki_sha256 }) => spki_sha256)).toEqual([spki('1'), spki('2')]);
  // A set that was given out does not change.
  expect(before.tls_public_keys).toHaveLength(1);
});

it('signs with the key that it names, and makes another key at each start', () => {
  const { signer, named } = makeReceiptKey();
  const prefix = Buffer.from('302a300506032b6570032100', 'hex');
  const spkiBytes = Buffer.concat([prefix, Buffer.from(named.public_key, 'hex')]);
  const key = createPublicKey({ key: spkiBytes, format: 'der', type: 'spki' });
  const bytes = new TextEncoder().encode('a receipt');
  expect(signer.keyId).toBe(named.key_id);
  expect(signer.sign(bytes)).toHaveLength(64);
  expect(verify(null, bytes, key, signer.sign(bytes))).toBe(true);
  expect(verify(null, bytes, key, makeReceiptKey().signer.sign(bytes))).toBe(false);
});
