import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { ServiceError } from '@sotto/wire';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { ResponsesSockets, type SocketOptions } from './responses-sockets.ts';

const unused = (): never => expect.unreachable('nothing is served');
const socketsWith = (options: Partial<SocketOptions> = {}): ResponsesSockets =>
  new ResponsesSockets({
    ...{ serveDialect: unused, requireCaller: () => undefined, maxBodyBytes: 1000, onError: () => undefined },
    ...options,
  });

/** The proxy's side of a connection. */
class Connection extends Duplex {
  heard = '';
  override _read(): void {}
  override _write(piece: Buffer, _: string, done: () => void): void {
    this.heard += String(piece);
    done();
  }
}

const asking = (upgrade: string): IncomingMessage =>
  ({ method: 'GET', url: '/v1/responses', headers: { upgrade } }) as unknown as IncomingMessage;
const noCaller = (): never => {
  throw new ServiceError('invalid_api_key');
};

describe('a refused WebSocket', () => {
  // The client resets its connection before the refusal is written, or after: neither may end the process.
  it.each(['before', 'after'])(
    'does not end the proxy if its connection breaks %s the refusal is sent',
    async (when) => {
      const socket = new Connection();
      socketsWith({ requireCaller: noCaller }).open(asking('websocket'), socket, Buffer.alloc(0));
      const closed = new Promise((resolve) => socket.once('close', resolve));
      if (when === 'after') await once(socket, 'finish');
      socket.destroy(new Error('reset'));
      await closed;
    },
  );

  it('has its connection closed, also if the client keeps its own side open', async () => {
    const socket = new Connection();
    socketsWith({ requireCaller: noCaller }).open(asking('websocket'), socket, Buffer.alloc(0));
    await once(socket, 'close');
    expect(socket.heard).toMatch(/^HTTP\/1\.1 401 .*invalid_api_key/s);
  });

  it('names the header, if it asks for another protocol', async () => {
    const socket = new Connection();
    socketsWith().open(asking('h2c'), socket, Buffer.alloc(0));
    await once(socket, 'close');
    expect(socket.heard).toMatch(/^HTTP\/1\.1 400 .*The header `upgrade: h2c` asks for another protocol/s);
  });
});

describe('an open WebSocket', () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  async function connected(serveDialect: SocketOptions['serveDialect']): Promise<WebSocket> {
    const sockets = socketsWith({ serveDialect });
    const server = createServer().on('upgrade', (request, socket, head) => sockets.open(request, socket, head));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/v1/responses`);
    ends.push(() => {
      client.terminate();
      sockets.closeAll();
      server.close();
    });
    await once(client, 'open');
    return client;
  }
  const turn = JSON.stringify({ type: 'response.create' });

  // The socket closes only when the client says so, too. Until then, each turn that waited would be sent, and charged.
  it('sends no turn that waited for one that broke off', async () => {
    let served = 0;
    const client = await connected(async () => {
      served += 1;
      throw new Error('broken');
    });
    for (let at = 0; at < 3; at += 1) client.send(turn);
    expect((await once(client, 'close'))[0]).toBe(1011);
    expect(served).toBe(1);
  });

  it('gives the running turn up when too many wait, although the client does not answer the close', async () => {
    const signals: AbortSignal[] = [];
    let gaveUp: (() => void) | undefined;
    const left = new Promise<void>((resolve) => {
      gaveUp = resolve;
    });
    const client = await connected(({ signal }) => {
      signals.push(signal);
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          gaveUp?.();
          reject(signal.reason);
        });
      });
    });
    client.pause();
    for (let at = 0; at < 17; at += 1) client.send(turn);
    await left;
    expect(signals).toHaveLength(1);
  });
});
