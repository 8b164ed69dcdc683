import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { readCreditKeysFile, readIssuer } from './issuer.ts';
import {
  clock,
  credit,
  folder,
  issuer,
  issuerKeys,
  keyIdOf,
  pem,
  spkiOf,
  useWallets,
  yamlOf,
} from './wallet-world.integration.ts';

await useWallets();

test.each([
  [{ ANONYMOUS_WALLETS: 'off', CREDIT_KEYS_FILE: '/x' }, undefined, { ok: true, settings: undefined }],
  [{ ANONYMOUS_WALLETS: 'on', CREDIT_KEYS_FILE: '/x' }, undefined, { ok: true, settings: '/x' }],
  [{ ANONYMOUS_WALLETS: 'on' }, undefined, { ok: false, message: expect.stringContaining('CREDIT_KEYS_FILE') }],
  [{ ANONYMOUS_WALLETS: 'on', CREDIT_KEYS_FILE: '/x' }, 0n, { ok: false, message: expect.stringContaining('BILLING') }],
] as const)('the settings %o with a monthly grant of %s', (env, monthlyGrantNusd, result) => {
  expect(readCreditKeysFile({ CREDIT_KEYS_FILE: undefined, ...env }, { monthlyGrantNusd })).toEqual(result);
});

describe('the file of issuer keys', () => {
  const read = async (text: string) => {
    const file = join(folder, `${randomUUID()}.yaml`);
    await writeFile(file, text);
    return readIssuer(file);
  };
  const [key] = issuerKeys;
  const of = (pemOf: string, year = 2026) => ({ year, pem: pemOf });

  it('may have public keys, which only redeem', async () => {
    const result = await read(yamlOf([of(pem(key?.publicKey as KeyObject))]));
    if (!result.ok) throw new Error(result.message);
    expect(result.settings.read(credit())).toMatchObject({ keyId: keyIdOf() });
    expect(result.settings.signs(keyIdOf(), clock.now)).toBe(false);
    expect(result.settings.published.keys).toEqual([
      { year: 2026, key: spkiOf(key?.publicKey as KeyObject).toString('base64url') },
    ]);
  });

  it('is refused without quoting it', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 3072 }).privateKey;
    const good = pem(key?.privateKey as KeyObject);
    const bad = [
      'issuer: [',
      'issuer: UPPER\nkeys: []',
      yamlOf([of(pem(weak))]),
      yamlOf([of('SECRET WORDS')]),
      yamlOf([of(good), of(good, 2027)]),
    ];
    for (const text of [...bad, yamlOf([of(good), of(good)])]) {
      const result = await read(text);
      expect(result.ok).toBe(false);
      expect(JSON.stringify(result)).not.toMatch(/SECRET|BEGIN/);
    }
    expect((await readIssuer('/none')).ok).toBe(false);
  });

  it('signs by the key of the year, and of a day before and after', async () => {
    const at = (text: string) => issuerKeys.map((_, index) => issuer.signs(keyIdOf(index), Date.parse(text)));
    expect(at('2026-12-30T12:00:00Z')).toEqual([true, false]);
    expect(at('2026-12-31T12:00:00Z')).toEqual([true, true]);
    expect(at('2027-01-01T12:00:00Z')).toEqual([true, true]);
    expect(at('2027-01-02T12:00:00Z')).toEqual([false, true]);
  });
});
