import { expect, it } from 'vitest';
import { AddressLimit } from './address-limit.ts';

function limit(perMinute = 2, maxAddresses = 3) {
  let now = 1_000_000;
  const limits = new AddressLimit({ perMinute, maxAddresses, now: () => now });
  return {
    take: (address: string) => limits.take(address),
    pass: (seconds: number) => {
      now += seconds * 1000;
    },
  };
}

it('lets so many pass in a minute, says how long to wait, and counts each address by itself', () => {
  const { take, pass } = limit();
  expect([take('192.0.2.1'), take('192.0.2.1'), take('192.0.2.2')]).toEqual([undefined, undefined, undefined]);
  pass(18.5);
  expect(take('192.0.2.1')).toBe(42);
  expect(take('192.0.2.2')).toBeUndefined();
  pass(41.5);
  expect(take('192.0.2.1')).toBeUndefined();
});

it('takes a whole IPv6 network for one caller, and an IPv4 address for one however it is written', () => {
  const { take } = limit(2);
  take('2001:db8:0:1::1');
  take('2001:0db8:0:1:ffff::2');
  expect(take('2001:0db8:0:1:2:3:4:5')).toBeGreaterThan(0);
  expect(take('2001:db8:0:2::1')).toBeUndefined();
  expect([take('::ffff:192.0.2.1'), take('::ffff:c000:201')]).toEqual([undefined, undefined]);
  expect(take('192.0.2.1')).toBeGreaterThan(0);
});

it('holds no more addresses than it may: the others share one count', () => {
  const { take } = limit(2, 3);
  for (let address = 0; address < 3; address += 1) take(`192.0.2.${address}`);
  const later = Array.from({ length: 5 }, (_, address) => take(`198.51.100.${address}`));
  expect(later.map((wait) => wait === undefined)).toEqual([true, true, false, false, false]);
  expect(take('192.0.2.0')).toBeUndefined();
});

it('begins anew when the clock steps back', () => {
  const { take, pass } = limit(1);
  take('192.0.2.1');
  pass(-3600);
  expect(take('192.0.2.1')).toBeUndefined();
});
