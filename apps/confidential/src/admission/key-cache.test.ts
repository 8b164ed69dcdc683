import { hashSecret, type VersionedKey } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import { expect, test } from 'vitest';
import { KeyCache } from './key-cache.ts';

const keyWith = (ignored: number): VersionedKey => ({
  record: {
    ...{ v: 1, kind: 'inference', openaiCompatible: true, accountRef: 'sealed' },
    preferences: {
      ...initialPreferences,
      provider_ignore: Array.from({ length: ignored }, (_, at) => `provider-with-a-long-name-${at}`),
    },
  },
  generation: 'first',
  shard: 1,
});

/** A cache whose keys all have this record, and the names that it looked up. */
function cacheOf(key: VersionedKey | undefined) {
  const asked: string[] = [];
  const keys = new KeyCache({
    lookupKey: async (secretHash) => {
      asked.push(secretHash);
      return key;
    },
  });
  return { keys, asked };
}

const megabyte = 1024 * 1024;

test('keeps large records only up to a total size, the newest ones', async () => {
  const large = keyWith(8000);
  const { keys, asked } = cacheOf(large);
  const chars = JSON.stringify(large).length;
  const many = Math.ceil((32 * megabyte) / chars);
  for (let at = 0; at < many; at += 1) await keys.find(`key-${at}`);
  expect(keys.chars).toBeLessThanOrEqual(16 * megabyte);
  expect(keys.chars).toBeGreaterThan(16 * megabyte - 2 * chars);
  await keys.find(`key-${many - 1}`);
  expect(asked).toHaveLength(many);
  await keys.find('key-0');
  expect(asked.at(-1)).toBe(hashSecret('key-0'));
});

test('keeps many records of the usual size', async () => {
  const { keys, asked } = cacheOf(keyWith(0));
  for (let round = 0; round < 2; round += 1) {
    for (let at = 0; at < 20_000; at += 1) await keys.find(`key-${at}`);
  }
  expect(asked).toHaveLength(20_000);
});

test('counts a record once, however often it is replaced, and not after it was dropped', async () => {
  const { keys } = cacheOf(keyWith(10));
  const { secretHash } = await keys.find('key');
  const { chars } = keys;
  for (let times = 0; times < 3; times += 1) await keys.fresh('key');
  expect(keys.chars).toBe(chars);
  keys.drop(secretHash);
  keys.drop(secretHash);
  expect(keys.chars).toBe(0);
});
