import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { certifyServer, Issuer, type ServerCredentials, toPem } from '@sotto/attestation/testing';
import { attestedPool, openUpstream, type Upstream, type UpstreamFailure } from '@sotto/providers';
import { afterAll, beforeAll, expect, it } from 'vitest';

let server: Server;
let credentials: ServerCredentials;
let ca: string;
/** All bytes that clients have written inside TLS. */
let heard = '';
let connections = 0;
/** For each connection, whether it resumed a session. A closed socket does not tell any more. */
const resumed: boolean[] = [];

beforeAll(async () => {
  const authority = await Issuer.make('Test Authority');
  ca = toPem(await authority.certifySelf());
  credentials = await certifyServer(authority);
  server = createServer({ cert: credentials.cert, key: credentials.key }, (request, response) => {
    if (request.url === '/v1/once') response.setHeader('connection', 'close');
    response.end('{}');
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    resumed.push(socket.isSessionReused());
    socket.on('data', (bytes: Buffer) => {
      heard += bytes.toString('latin1');
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const ownKey = () => createHash('sha256').update(credentials.spki).digest('hex');
const open = (keys: readonly string[], trusted: { readonly ca?: string } = { ca }): Upstream => {
  const { port } = server.address() as AddressInfo;
  const baseUrl = `https://127.0.0.1:${port}/v1`;
  const makePool = attestedPool({ isAttested: (spki) => keys.includes(spki), ...trusted });
  return openUpstream({ baseUrl, headers: ['authorization', 'Bearer ours'], connectTimeoutMs: 5000 }, makePool);
};
const call = async (upstream: Upstream): Promise<'end' | UpstreamFailure> => {
  const ended = await new Promise<'end' | UpstreamFailure>((resolve) => {
    const request = { path: '/chat/completions', body: '{"the":"content"}', accept: 'application/json' };
    const onEnd = () => resolve('end');
    upstream.call(request, { onResponse() {}, onBytes() {}, onEnd, onFailure: resolve });
  });
  await upstream.close();
  return ended;
};

it('a connection that shows an attested key receives content', async () => {
  expect(await call(open(['00'.repeat(32), ownKey()]))).toBe('end');
  expect(heard).toContain('{"the":"content"}');
});

it('a connection that shows another key receives no byte: neither content nor our own key', async () => {
  heard = '';
  const before = connections;
  expect(await call(open(['00'.repeat(32)]))).toBe('attestation_failed');
  expect(await call(open([]))).toBe('attestation_failed');
  expect(connections).toBe(before + 2);
  expect(heard).toBe('');
});

it('an attested key does not replace a certificate that browsers would accept', async () => {
  heard = '';
  expect(await call(open([ownKey()], {}))).toBe('network_failure');
  expect(heard).toBe('');
});

it('without TLS there is no key, so the client opens no connection', async () => {
  const { port } = server.address() as AddressInfo;
  const makePool = attestedPool({ isAttested: () => true });
  const plain = openUpstream({ baseUrl: `http://127.0.0.1:${port}`, headers: [], connectTimeoutMs: 5000 }, makePool);
  expect(await call(plain)).toBe('attestation_failed');
});

it('each connection proves the key again: no TLS session is resumed', async () => {
  const before = resumed.length;
  const upstream = open([ownKey()]);
  // One after the other, so that each connection could resume the session of the one before.
  for (let calls = 0; calls < 3; calls += 1) {
    const request = { path: '/once', body: '{}', accept: 'application/json' };
    await new Promise<void>((resolve) => {
      upstream.call(request, { onResponse() {}, onBytes() {}, onEnd: resolve, onFailure: () => resolve() });
    });
  }
  await upstream.close();
  expect(resumed.slice(before)).toEqual([false, false, false]);
});
