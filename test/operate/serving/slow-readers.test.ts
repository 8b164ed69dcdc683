import type { AddressInfo } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { certifyServer, Issuer } from '@sotto/attestation/testing';
import { createServer } from '@sotto/server';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeAll, expect, it } from 'vitest';

/** More than the kernel buffers for a client that does not read. */
const large = 'x'.repeat(16 * 2 ** 20);

let credentials: { readonly cert: string; readonly key: string };
let app: FastifyInstance;
let socket: TLSSocket;
beforeAll(async () => {
  credentials = await certifyServer(await Issuer.make('Test Authority'));
});
afterEach(async () => {
  socket.destroy();
  await app.close();
});

/** Requests a large answer over TLS, and reads nothing. Resolves to the server's end of the connection. */
async function ask(): Promise<TLSSocket> {
  app = createServer({
    ...{ bodyLimit: 1024, maxHeaderBytes: 16_384, trustProxy: false, tls: credentials },
    slowReaders: { stillMs: 100, restMs: 60_000 },
    isOpenToPages: () => false,
    onShed: () => {},
    onUnexpected: (error) => expect.unreachable(JSON.stringify(error)),
  });
  app.get('/large', async () => large);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const accepted = new Promise<TLSSocket>((resolve) => void app.server.once('secureConnection', resolve));
  const { port } = app.server.address() as AddressInfo;
  socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.pause().on('error', () => {});
  await new Promise<void>((resolve) => void socket.once('secureConnect', resolve));
  socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n');
  return accepted;
}

it('a client that reads nothing of its answer is disconnected, also over TLS', async () => {
  const connection = await ask();
  await new Promise<void>((resolve) => void connection.once('close', resolve));
});
