import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { tlsExporter } from '@sotto/attestation';
import { certifyServer, Issuer } from '@sotto/attestation/testing';
import { buildConnector } from 'undici';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { NodeConnection } from './node-connection.ts';

const asked = { nonce: 'ab'.repeat(32), binding: 'channel' } as const;
const { signal } = new AbortController();
const content = { path: '/v1/chat/completions', headers: {}, body: 'content', signal } as const;

let certified: { readonly key: string; readonly cert: string };
beforeAll(async () => {
  certified = await certifyServer(await Issuer.make('an authority'));
});
let stop = async (): Promise<void> => undefined;
afterEach(() => stop());

/** A server that answers every request, and a connection to it. */
async function world(
  options: ServerOptions = {},
  headersOf: Partial<Record<'GET' | 'POST', Record<string, string>>> = {},
) {
  const exported: string[] = [];
  const paths: string[] = [];
  const sockets: TLSSocket[] = [];
  const server = createServer({ ...certified, ...options }, (request, response) => {
    paths.push(request.url ?? '');
    response.writeHead(200, headersOf[request.method === 'POST' ? 'POST' : 'GET']).end('{}');
  });
  server.on('secureConnection', (socket) => {
    sockets.push(socket);
    exported.push(socket.exportKeyingMaterial(tlsExporter.bytes, tlsExporter.label, Buffer.alloc(0)).toString('hex'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const dial = buildConnector({ rejectUnauthorized: false, allowH2: false });
  const connection = new NodeConnection(`https://127.0.0.1:${port}`, dial);
  stop = async () => {
    connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { connection, exported, paths, sockets };
}

it('exports what the server exports, and sends content on the same connection', async () => {
  const { connection, exported, paths } = await world();
  const { channel } = await connection.readEvidence(asked, signal);
  expect(Buffer.from(channel?.exporter ?? []).toString('hex')).toBe(exported[0]);
  expect(exported[0]).toHaveLength(64);
  const answer = await connection.send(content, () => undefined);
  expect(await answer.toResponse().text()).toBe('{}');
  expect(paths).toEqual([`/v1/gateway/attestation?nonce=${asked.nonce}&binding=channel`, content.path]);
  expect(exported).toHaveLength(1);
});

it('exports the value of a connection that the server closes with its evidence, and sends no content on it', async () => {
  const { connection, exported, paths } = await world({}, { GET: { connection: 'close' } });
  const { channel, tlsSpki } = await connection.readEvidence(asked, signal);
  expect(Buffer.from(channel?.exporter ?? []).toString('hex')).toBe(exported[0]);
  expect(tlsSpki).toBeDefined();
  expect(connection.isOpen).toBe(false);
  await expect(connection.send(content, () => undefined)).rejects.toMatchObject({ code: 'connection_not_verified' });
  expect([exported.length, paths.length]).toEqual([1, 1]);
});

it('exports nothing with TLS 1.2, whose value two connections can share, and nothing without being asked', async () => {
  const old = await world({ maxVersion: 'TLSv1.2' });
  expect((await old.connection.readEvidence(asked, signal)).channel).toEqual({ exporter: undefined });
  await stop();
  const { connection } = await world();
  expect((await connection.readEvidence({ ...asked, binding: 'key' }, signal)).channel).toBeUndefined();
});

// The interleaving: the connection ends after it was chosen and before the request is written. undici would connect again.
it('never connects again, so that no content leaves on a connection that was not attested', async () => {
  const { connection, paths, sockets } = await world();
  await connection.readEvidence(asked, signal);
  const sent = connection.send(content, () => undefined);
  sockets[0]?.destroy();
  await sent.catch(() => undefined);
  const before = paths.length;
  const outcome = connection
    .send(content, () => undefined)
    .then(
      () => 'sent',
      ({ code }) => code,
    );
  expect(await outcome).toBe('connection_not_verified');
  expect(connection.isOpen).toBe(false);
  expect([sockets.length, paths.length]).toEqual([1, before]);
});

it('is free for another request when the answer was read, unless the server announced the end of the connection', async () => {
  for (const isLast of [false, true]) {
    const { connection } = await world({}, isLast ? { POST: { connection: 'close' } } : {});
    await connection.readEvidence(asked, signal);
    let free = 0;
    const answer = await connection.send(content, () => (free += 1));
    expect(free).toBe(0);
    await answer.toResponse().text();
    expect([free, connection.isOpen]).toEqual([1, !isLast]);
    await stop();
  }
});
