import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { Heard } from '../testing/heard.ts';
import { isPrivateAddress, privatePool } from './pool.ts';
import { openUpstream } from './upstream.ts';

it.each([
  ...['127.0.0.1', '127.9.9.9', '10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
  ...['::1', 'fc00::1', 'fd12:3456::1', '::ffff:10.0.0.1', '::ffff:7f00:1'],
])('%s is private', (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});

it.each([
  ...['8.8.8.8', '172.15.255.255', '172.32.0.1', '192.169.0.1', '11.0.0.1', '0.0.0.0', '100.64.0.1', '224.0.0.1'],
  ...['169.254.169.254', '169.254.170.2', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8'],
  ...['fe80::1', 'febf::1', 'fd00:ec2::254', 'fd00:0ec2:0::0254', 'fd20:ce::254', '::', '2001:db8::1', 'ff02::1'],
  ...['', 'localhost', '10.0.0', '10.0.0.1.example', '127.1'],
])('%s is not private', (address) => {
  expect(isPrivateAddress(address)).toBe(false);
});

/** Makes one call to a provider under a name that resolves to these addresses, or under an address. */
async function call(host: string, addresses: readonly string[] = []) {
  let connections = 0;
  const server = createServer((_request, response) => response.end('{}'));
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  let refused = 0;
  const resolved: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const makePool = privatePool({
    onRefused: () => {
      refused += 1;
    },
    lookup: (_name, _options, callback) => callback(null, resolved),
  });
  const upstream = openUpstream(
    { baseUrl: `http://${host}:${port}/v1`, headers: [], connectTimeoutMs: 5000 },
    makePool,
  );
  const heard = new Heard();
  upstream.call({ path: '/x', body: '{}', accept: 'application/json' }, heard);
  await heard.over;
  await upstream.close();
  await new Promise((resolve) => server.close(resolve));
  return { told: heard.told, connections, refused };
}

const answered = { told: ['response 200', 'bytes', 'end'], connections: 1, refused: 0 };
const refused = { told: ['network_failure'], connections: 0, refused: 1 };

it('reaches a private address, by name or as it is', async () => {
  expect(await call('ollama.test', ['127.0.0.1'])).toEqual(answered);
  expect(await call('127.0.0.1')).toEqual(answered);
});

it.each([
  ['a public address', 'models.test', ['203.0.113.7']],
  ['a public address beside a private one', 'models.test', ['127.0.0.1', '203.0.113.7']],
  ['a link-local address', 'models.test', ['127.0.0.1', 'fe80::1']],
  ['a metadata service', 'models.test', ['169.254.169.254']],
  ['no address', 'models.test', []],
])('connects to none of the addresses of a name with %s', async (_, host, addresses) => {
  expect(await call(host, addresses)).toEqual(refused);
});

it.each(['203.0.113.7', '169.254.169.254', '[::ffff:169.254.169.254]', '[fd00:ec2::254]', '[fe80::1]', '2852039166'])(
  'does not connect to the address %s',
  async (host) => {
    expect(await call(host)).toEqual(refused);
  },
);
