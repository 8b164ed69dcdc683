import fc from 'fast-check';
import { expect, it } from 'vitest';
import { artifactId, openPayload, sealPayload } from './artifact-store.ts';
import { type AgedKey, announcedMs, keysInForce, retiredMs, usedMs } from './key-store.ts';

const key = (id: string, createdAt: number): AgedKey => ({ id, createdAt });
const ids = (keys: readonly AgedKey[]): string[] => keys.map(({ id }) => id);

it('uses the very first key at once', () => {
  expect(keysInForce([], 0)).toEqual({ keys: [], isDue: true, obsolete: [] });
  expect(ids(keysInForce([key('a', 0)], 0).keys)).toEqual(['a']);
  expect(keysInForce([key('a', 0)], usedMs - 1).isDue).toBe(false);
  expect(keysInForce([key('a', 0)], usedMs).isDue).toBe(true);
});

it('publishes a new key before its use, and the old one after', () => {
  const all = [key('old', 0), key('new', usedMs)];
  expect(ids(keysInForce(all, usedMs).keys)).toEqual(['old', 'new']);
  expect(ids(keysInForce(all, usedMs + announcedMs - 1).keys)).toEqual(['old', 'new']);
  expect(ids(keysInForce(all, usedMs + announcedMs).keys)).toEqual(['new', 'old']);
  const late = keysInForce(all, usedMs + announcedMs + retiredMs + 1);
  expect(ids(late.keys)).toEqual(['new']);
  expect(ids(late.obsolete)).toEqual(['old']);
});

it('every key is either in force or obsolete at any time, and the one in use is never obsolete', () => {
  const ages = fc.uniqueArray(fc.nat(3 * usedMs), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(ages, fc.nat(4 * usedMs), (made, now) => {
      const all = made.map((createdAt, index) => key(String(index), createdAt));
      const { keys, obsolete } = keysInForce(all, now);
      expect([...ids(keys), ...ids(obsolete)].sort()).toEqual(ids(all).sort());
      const [active] = keys;
      for (const gone of obsolete) expect(gone.createdAt).toBeLessThan(active?.createdAt ?? 0);
    }),
  );
});

it('opens a payload only with its secret', () => {
  const sealed = sealPayload('AccessToken', 'a-secret', { jti: 'a-secret', scope: 'inference' });
  expect(sealed).not.toContain('a-secret');
  expect(openPayload('AccessToken', 'a-secret', sealed)).toEqual({ jti: 'a-secret', scope: 'inference' });
  expect(openPayload('AccessToken', 'b-secret', sealed)).toBeUndefined();
  expect(openPayload('RefreshToken', 'a-secret', sealed)).toBeUndefined();
  expect(openPayload('AccessToken', 'a-secret', 'short')).toBeUndefined();
});

it('keeps kinds apart: an id of one kind finds nothing of another', () => {
  expect(artifactId('AccessToken', 's')).not.toBe(artifactId('RefreshToken', 's'));
  expect(artifactId('AccessToken', 's')).toMatch(/^[\w-]{43}$/);
});
