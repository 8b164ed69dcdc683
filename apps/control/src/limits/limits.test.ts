import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { bearerId } from './credential-ids.ts';
import { limitKeys } from './rate-limits.ts';
import { VerifiedCredentials, verifiedCredentialOf } from './verified-credentials.ts';

const hourMs = 3_600_000;

/** A service that knows the keys `valid-…`. `lookups` has the keys that it was asked for. */
function world({ maxFailures = 1000 } = {}) {
  let now = 1_000_000;
  const lookups: string[] = [];
  const credentials = new VerifiedCredentials(
    async ({ headers }) => {
      const key = (headers.authorization ?? '').replace('Bearer ', '');
      lookups.push(key);
      if (key === 'away') throw new Error('the database is away');
      return key.startsWith('valid-')
        ? { id: bearerId(key), counter: key, kind: 'bearer', owner: 'account' }
        : undefined;
    },
    maxFailures,
    () => now,
  );
  return {
    lookups,
    pass: (ms: number) => {
      now += ms;
    },
    async find(key: string | undefined, address = 'one') {
      const request = { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } } as FastifyRequest;
      await credentials.find(request, address);
      return verifiedCredentialOf(request)?.id;
    },
  };
}

it('is verified once an hour, and a made-up credential with each request', async () => {
  const { lookups, pass, find } = world();
  const one = bearerId('valid-1');
  expect([await find('valid-1'), await find('valid-1'), await find('wrong'), await find('wrong')]).toEqual([
    ...[one, one, undefined, undefined],
  ]);
  pass(hourMs - 1);
  await find('valid-1');
  expect(lookups).toEqual(['valid-1', 'wrong', 'wrong']);
  pass(1);
  expect(await find('valid-1')).toBe(one);
  expect(lookups).toHaveLength(4);
});

it('is undefined without a credential, and while none can be verified', async () => {
  const { lookups, find } = world();
  expect([await find(undefined), await find('away')]).toEqual([undefined, undefined]);
  expect(lookups).toEqual(['away']);
});

it('is forgotten beyond fifty thousand, those verified first before others', async () => {
  const { lookups, find } = world();
  for (let key = 0; key <= 50_000; key += 1) await find(`valid-${key}`);
  lookups.length = 0;
  for (const key of ['valid-1', 'valid-50000', 'valid-0']) await find(key);
  expect(lookups).toEqual(['valid-0']);
});

it('is not looked up for an address that showed too many made-up ones in a minute, but served if it is known', async () => {
  const { lookups, pass, find } = world({ maxFailures: 3 });
  expect(await find('valid-1')).toBe(bearerId('valid-1'));
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => find(key)));
  expect(lookups).toEqual(['valid-1', 'a', 'b', 'c']);
  expect([await find('valid-1'), await find('valid-2')]).toEqual([bearerId('valid-1'), undefined]);
  expect(await find('valid-2', 'another')).toBe(bearerId('valid-2'));
  pass(60_000);
  expect(await find('valid-3')).toBe(bearerId('valid-3'));
});

const keyOf = limitKeys('a session secret of the deployment');

it('gives a counter the same name in every control process with the same secret, under one prefix', () => {
  expect(keyOf('sign-in:10.0.0.1')).toMatch(/^control:limit:[\w-]{22}$/);
  expect(limitKeys('a session secret of the deployment')('sign-in:10.0.0.1')).toBe(keyOf('sign-in:10.0.0.1'));
});

it('gives a different name under another secret, and for another counted value', () => {
  expect(limitKeys('another session secret of it')('sign-in:10.0.0.1')).not.toBe(keyOf('sign-in:10.0.0.1'));
  expect(keyOf('mail:10.0.0.1')).not.toBe(keyOf('sign-in:10.0.0.1'));
});

it('reveals neither the counted value nor a plain hash of it', () => {
  const plain = hash('sha256', '10.0.0.1', 'base64url');
  expect(keyOf('10.0.0.1')).not.toContain('10.0.0.1');
  expect(keyOf('10.0.0.1')).not.toContain(plain.slice(0, 22));
});
