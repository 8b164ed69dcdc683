import { expect, it } from 'vitest';
import { Nonces } from './nonces.ts';

const [key, other] = [Uint8Array.of(1, 2, 3), Uint8Array.of(1, 2, 4)];
const open = () => {
  const clock = { nowMs: 1_790_000_000_000 };
  return { clock, nonces: new Nonces({ lifeMs: 60_000, now: () => clock.nowMs }) };
};

it('gives different nonces of 64 lower-case hex digits', () => {
  const { nonces } = open();
  const given = Array.from({ length: 100 }, () => nonces.give(key));
  for (const nonce of given) expect(nonce).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(given).size).toBe(100);
});

it('accepts a nonce once, and only from the key it was given to', () => {
  const { nonces } = open();
  const nonce = nonces.give(key);
  expect([nonces.isGood(nonce, key), nonces.isGood(nonce, other)]).toEqual([true, false]);
  expect([nonces.use(nonce), nonces.use(nonce)]).toEqual([true, false]);
  expect(nonces.isGood(nonce, key)).toBe(false);
});

it('rejects a nonce that is foreign, too old, from the future or malformed', () => {
  const { clock, nonces } = open();
  const nonce = nonces.give(key);
  for (const bad of [
    '',
    '0'.repeat(64),
    nonce.toUpperCase(),
    `${nonce}00`,
    nonce.slice(2),
    'z'.repeat(64),
    open().nonces.give(key),
  ]) {
    expect(nonces.isGood(bad, key), bad).toBe(false);
  }
  for (let at = 0; at < 64; at += 1) {
    const flipped = nonce.slice(0, at) + (nonce[at] === '0' ? '1' : '0') + nonce.slice(at + 1);
    expect(nonces.isGood(flipped, key), `digit ${at}`).toBe(false);
  }
  clock.nowMs -= 1;
  expect(nonces.isGood(nonce, key)).toBe(false);
  clock.nowMs += 60_000;
  expect(nonces.isGood(nonce, key)).toBe(true);
  clock.nowMs += 1;
  expect(nonces.isGood(nonce, key)).toBe(false);
});

it('remembers a used nonce for as long as it would be valid', () => {
  const { clock, nonces } = open();
  const first = nonces.give(key);
  nonces.use(first);
  clock.nowMs += 59_999;
  nonces.use(nonces.give(key));
  expect(nonces.isGood(first, key)).toBe(false);
});
