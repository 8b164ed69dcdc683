import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createServer } from './server.ts';

/** Overrides the default of 1 s, which is too short on a busy machine. */
const hangMs = 30_000;

let app: FastifyInstance;
let begun: string[] = [];
let answer: ((text: string) => void)[] = [];
let socket: Socket;
afterEach(async () => {
  socket.destroy();
  await app.close();
});

async function open(): Promise<{ text(): string }> {
  begun = [];
  answer = [];
  app = createServer({
    ...{ bodyLimit: 2 ** 20, maxHeaderBytes: 16_384, trustProxy: false },
    isOpenToPages: () => false,
    onShed: (requests) => expect.unreachable(`${requests} requests were refused for load`),
    onUnexpected: (error) => expect.unreachable(JSON.stringify(error)),
  });
  app.route({
    method: ['GET', 'POST'],
    url: '/held/:name',
    handler: ({ params }) => {
      begun.push((params as { name: string }).name);
      return new Promise<string>((resolve) => answer.push(resolve));
    },
  });
  app.get('/quick', async () => {
    begun.push('quick');
    return 'served';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.on('data', (piece) => {
    text += String(piece);
  });
  return { text: () => text };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const statuses = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);

describe('requests that arrive at once on one connection', () => {
  it('begin one after the other, each after the previous response was sent', async () => {
    const { text } = await open();
    socket.write(get('/held/a') + get('/held/b') + get('/held/c'));
    for (const [at, name] of ['a', 'b', 'c'].entries()) {
      await vi.waitFor(() => expect(begun).toHaveLength(at + 1), hangMs);
      expect(begun.at(-1)).toBe(name);
      answer[at]?.(`answer ${name}`);
    }
    await vi.waitFor(() => expect(text()).toContain('answer c'), hangMs);
    expect(text().match(/answer \w/g)).toEqual(['answer a', 'answer b', 'answer c']);
  });

  it('are rejected in few bytes beyond the sixty-fourth that waits', async () => {
    const { text } = await open();
    socket.write(get('/held/a') + get('/quick').repeat(199));
    await vi.waitFor(() => expect(begun).toEqual(['a']), hangMs);
    answer[0]?.('served');
    await vi.waitFor(() => expect(statuses(text())).toHaveLength(200), hangMs);
    expect(statuses(text())).toEqual([...Array(65).fill('200'), ...Array(135).fill('503')]);
    expect(begun).toHaveLength(65);
    expect(text()).toContain('Too many requests wait on this connection.');
  });

  it('are read while they wait if they have large bodies, so that the bodies do not time out', async () => {
    await open();
    const body = JSON.stringify('x'.repeat(200_000));
    const head = `POST /held/b HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    socket.write(get('/held/a') + head + body);
    await vi.waitFor(() => expect(begun).toEqual(['a', 'b']), hangMs);
  });

  it('leave no trace if their client leaves', async () => {
    await open();
    socket.write(get('/held/a') + get('/held/b'));
    await vi.waitFor(() => expect(begun).toEqual(['a']), hangMs);
    const gone = new Promise<void>((resolve) => {
      app.server.getConnections((_, count) => expect(count).toBe(1));
      const look = setInterval(() => {
        app.server.getConnections((_, count) => {
          if (count > 0) return;
          clearInterval(look);
          resolve();
        });
      }, 5);
    });
    socket.destroy();
    await gone;
    answer[0]?.('too late');
    expect(begun).toEqual(['a']);
  });
});
