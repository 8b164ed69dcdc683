import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { createServer } from './server.ts';

const mebibyte = 2 ** 20;
/** More bytes than the kernel buffers for a client that does not read. */
const large = 'x'.repeat(16 * mebibyte);

let app: FastifyInstance;
/** Resolves, once the late answer is asked for, to what gives it. */
let late = Promise.withResolvers<() => void>();
const opened: Socket[] = [];
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await app.close();
});

async function listen(slowReaders: { readonly stillMs: number; readonly restMs: number }): Promise<void> {
  late = Promise.withResolvers();
  app = createServer({
    ...{ bodyLimit: 1024, maxHeaderBytes: 16_384, trustProxy: false, slowReaders },
    isOpenToPages: () => false,
    onShed: () => {},
    onUnexpected: (error) => expect.unreachable(JSON.stringify(error)),
  });
  app.get('/large', async () => large);
  app.get(
    '/late',
    () =>
      new Promise((resolve) => {
        late.resolve(() => resolve('late'));
      }),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
}

/** Sends a request, and reads nothing yet. */
async function ask(path: string): Promise<Socket> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  opened.push(socket);
  socket.pause().on('error', () => {});
  await new Promise<void>((resolve) => void socket.once('connect', resolve));
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return socket;
}

const served = (): Promise<Socket> => new Promise((resolve) => void app.server.once('connection', resolve));
const closed = (socket: Socket): Promise<void> =>
  socket.destroyed ? Promise.resolve() : new Promise((resolve) => void socket.once('close', resolve));

/** Reads all available bytes at an interval, until the response is whole. */
function readSlowly(socket: Socket, everyMs: number, atMost: number): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0;
    const reading = setInterval(() => {
      const piece: Buffer | null = socket.read(Math.min(atMost, socket.readableLength)) ?? socket.read();
      bytes += piece?.length ?? 0;
      if (bytes >= large.length) over();
    }, everyMs);
    const over = (): void => {
      clearInterval(reading);
      resolve(bytes);
    };
    socket.once('close', over);
  });
}

describe('a client that does not read its response', () => {
  it('is disconnected once it has read nothing for a while', async () => {
    await listen({ stillMs: 50, restMs: 60_000 });
    const connection = served();
    await ask('/large');
    await closed(await connection);
  });

  it('is disconnected if it takes too long for the whole response, even if it keeps reading a little', async () => {
    await listen({ stillMs: 60_000, restMs: 100 });
    const connection = served();
    const socket = await ask('/large');
    const read = readSlowly(socket, 10, 1024);
    await closed(await connection);
    socket.destroy();
    expect(await read).toBeLessThan(large.length);
  });

  it('is served to the end while it keeps reading', async () => {
    await listen({ stillMs: 1000, restMs: 60_000 });
    const socket = await ask('/large');
    expect(await readSlowly(socket, 100, mebibyte)).toBeGreaterThanOrEqual(large.length);
  });

  it('is not disconnected while its response is still awaited', async () => {
    await listen({ stillMs: 20, restMs: 20 });
    const connection = served();
    const socket = await ask('/late');
    const timedOut = await connection;
    const answerLate = await late.promise;
    for (let looks = 0; looks < 3; looks += 1) await new Promise((resolve) => void timedOut.once('timeout', resolve));
    expect(timedOut.destroyed).toBe(false);
    answerLate();
    const answer = await new Promise<string>(
      (resolve) => void socket.once('data', (piece) => resolve(String(piece))).resume(),
    );
    expect(answer).toContain('200 OK');
  });
});
