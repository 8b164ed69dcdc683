import type { LookupAddress } from 'node:dns';
import { type AddressInfo, BlockList, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isAllowedAddress, isPublicAddress, sendEvent } from './send-event.ts';

const notPublic = {
  ...{ outcome: 'address_not_public', status: null },
  message: expect.stringContaining('`webhooks.networks`'),
};
const networks = new BlockList();
networks.addAddress('127.0.0.1', 'ipv4');
let connections = 0;
const server = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** Sends to a name whose lookups return these addresses, one list after the other. */
async function sendTo(lookups: readonly (readonly string[])[], host = 'hooks.test') {
  const left = [...lookups];
  const { port } = server.address() as AddressInfo;
  const before = connections;
  const resolved = (): LookupAddress[] =>
    (left.shift() ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const send = () =>
    sendEvent(
      { url: `https://${host}:${port}/`, secret: 'whsec_AAAA', id: 'x', body: '{}' },
      { networks, lookup: (_name, _options, callback) => callback(null, resolved()) },
      0,
    );
  const { outcome } = await send();
  return { outcome, connections: connections - before, again: send };
}

it.each([
  ['a private address', ['10.0.0.1']],
  ['a private address beside an allowed one', ['127.0.0.1', '10.0.0.1']],
  ['a metadata service', ['169.254.169.254']],
  ['loopback that is not allowed', ['127.0.0.2']],
  ['any address of this machine', ['0.0.0.0']],
  ['any address of this machine in IPv6', ['::']],
  ['loopback that is mapped into IPv6', ['::ffff:127.0.0.2']],
  ['loopback that is mapped into IPv6, in hex', ['::ffff:7f00:2']],
  ['a private address behind NAT64', ['64:ff9b::a00:1']],
  ['a private address behind a local NAT64', ['64:ff9b:1::a00:1']],
  ['a private address behind 6to4', ['2002:a00:1::1']],
  ['no address', []],
])('connects to none of the addresses of a name with %s', async (_, addresses) => {
  expect(await sendTo([addresses])).toMatchObject({ outcome: 'address_not_public', connections: 0 });
});

it('checks each connection: a name that led to an allowed address cannot lead to a private one later', async () => {
  const { outcome, connections, again } = await sendTo([['127.0.0.1'], ['127.0.0.2']]);
  expect([outcome, connections]).toEqual(['unreachable', 1]);
  expect(await again()).toEqual(notPublic);
});

it('never sends without TLS, even to an allowed address', async () => {
  const { port } = server.address() as AddressInfo;
  const before = connections;
  const event = { url: `http://127.0.0.1:${port}/`, secret: 'whsec_AAAA', id: 'x', body: '{}' };
  expect(await sendEvent(event, { networks }, 0)).toEqual(notPublic);
  expect(connections).toBe(before);
});

it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1', '2a00:1450:4001::1', '::ffff:8.8.8.8'])(
  '%s is public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

it.each([
  ...['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '0.1.2.3'],
  ...['192.0.0.8', '192.0.2.1', '198.18.0.1', '203.0.113.7', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['::1', '::', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'fec0::1', 'ff02::1', '2001:db8::1'],
  // IPv4 addresses in IPv6: mapped, translated, 6to4 and Teredo.
  ...['::ffff:10.0.0.1', '::ffff:7f00:1', '::10.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::1', '2002:a00:1::1', '2001::1'],
  ...['', 'localhost', '10.0.0', '2130706433', 'example.com'],
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

it('the operator can allow other networks', () => {
  const networks = new BlockList();
  networks.addSubnet('10.1.0.0', 16, 'ipv4');
  networks.addAddress('fd00::7', 'ipv6');
  expect(['10.1.2.3', 'fd00::7', '8.8.8.8'].every((address) => isAllowedAddress(address, networks))).toBe(true);
  expect(['10.2.0.1', 'fd00::8', '127.0.0.1'].some((address) => isAllowedAddress(address, networks))).toBe(false);
});
