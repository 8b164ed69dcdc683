import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AddressLimit, networkOf } from './network.ts';

describe('the network of an address', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:10.0.0.1', '10.0.0.1'],
    ['::ffff:a00:1', '10.0.0.1'],
    ['::ffff:7f00:1', '127.0.0.1'],
    ['0:0:0:0:0:ffff:7f00:0001', '127.0.0.1'],
    ['0000:0000:0000:0000:0000:ffff:203.0.113.5', '203.0.113.5'],
    ['::ffff:255.255.255.255', '255.255.255.255'],
    ['::ffff:0:1', '0.0.0.1'],
    ['::ffff:10.0.0.1%eth0', '10.0.0.1'],
    ['2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
    ['2001:DB8:0:1::9', '2001:db8:0:1::/64'],
    ['2001:0db8:0000:0001:ffff::', '2001:db8:0:1::/64'],
    ['2001:db8::5', '2001:db8:0:0::/64'],
    ['2001:0:0:1::5', '2001:0:0:1::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::10.0.0.1', '0:0:0:0::/64'],
    ['1::ffff:10.0.0.1', '1:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('counts %s as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it.each([
    ['203.0.113.5:4711', '203.0.113.5'],
    ['[2001:db8:0:1::9]:4711', '2001:db8:0:1::/64'],
    ['[::ffff:203.0.113.5]', '203.0.113.5'],
  ])('counts %s without its port as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it.each(['', 'not an address', '10.0.0.256', '010.0.0.1', '10.0.0.1:', '[10.0.0.1:5', '::ffff:10.0.0', '::1::'])(
    'counts %j with everything else that is not an address',
    (address) => {
      expect(networkOf(address)).toBe('unknown');
    },
  );

  it('is the same for every IPv6 spelling of an IPv4 address', () => {
    fc.assert(
      fc.property(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)), (bytes) => {
        const [a, b, c, d] = bytes;
        const dotted = bytes.join('.');
        const groups = [a * 256 + b, c * 256 + d].map((group) => group.toString(16));
        const spellings = [
          `::ffff:${dotted}`,
          `::ffff:${groups.join(':')}`,
          `0:0:0:0:0:FFFF:${groups.map((group) => group.padStart(4, '0').toUpperCase()).join(':')}`,
        ];
        expect(spellings.map(networkOf)).toEqual([dotted, dotted, dotted]);
      }),
    );
  });

  it('does not depend on the last 64 bits of an IPv6 address', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV6(), (one, other) => {
        const groupsOf = (network: string): string[] => network.replace('::/64', '').split(':');
        const network = networkOf(one);
        if (!network.endsWith('::/64')) return;
        const host = networkOf(other).endsWith('::/64') ? groupsOf(networkOf(other)).join(':') : '1:2:3:4';
        expect(networkOf(`${groupsOf(network).join(':')}:${host}`)).toBe(network);
      }),
      { examples: [['2001:db8::', '1:2:3:4::']] },
    );
  });
});

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

it('allows `perMinute` requests a minute, returns the seconds to wait, and counts each address separately', () => {
  const { take, pass } = limit();
  expect([take('192.0.2.1'), take('192.0.2.1'), take('192.0.2.2')]).toEqual([undefined, undefined, undefined]);
  pass(18.5);
  expect(take('192.0.2.1')).toBe(42);
  expect(take('192.0.2.2')).toBeUndefined();
  pass(41.5);
  expect(take('192.0.2.1')).toBeUndefined();
});

it('counts an IPv6 /64 network as one caller, and an IPv4 address as one caller in every spelling', () => {
  const { take } = limit(2);
  take('2001:db8:0:1::1');
  take('2001:0db8:0:1:ffff::2');
  expect(take('2001:0db8:0:1:2:3:4:5')).toBeGreaterThan(0);
  expect(take('2001:db8:0:2::1')).toBeUndefined();
  expect([take('::ffff:192.0.2.1'), take('::ffff:c000:201')]).toEqual([undefined, undefined]);
  expect(take('192.0.2.1')).toBeGreaterThan(0);
});

it('counts at most `maxAddresses` addresses: the others share one count', () => {
  const { take } = limit(2, 3);
  for (let address = 0; address < 3; address += 1) take(`192.0.2.${address}`);
  const later = Array.from({ length: 5 }, (_, address) => take(`198.51.100.${address}`));
  expect(later.map((wait) => wait === undefined)).toEqual([true, true, false, false, false]);
  expect(take('192.0.2.0')).toBeUndefined();
});

it('starts a new minute when the clock steps back', () => {
  const { take, pass } = limit(1);
  take('192.0.2.1');
  pass(-3600);
  expect(take('192.0.2.1')).toBeUndefined();
});
