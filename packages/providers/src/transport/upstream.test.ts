import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { Heard } from '../testing/heard.ts';
import { openUpstream, type Upstream, type UpstreamCall } from './upstream.ts';

const request = { path: '/chat/completions', body: '{"a":"é"}', accept: 'text/event-stream' };
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Answering {
  readonly upstream: Upstream;
  readonly seen: {
    readonly request: IncomingMessage;
    readonly body: string;
    readonly bytes: Buffer;
    readonly closed: Promise<void>;
  }[];
  readonly sockets: Set<Socket>;
  readonly server: Server;
}

/** A provider on loopback, and the upstream that calls it. */
async function answering(
  answer: (response: ServerResponse, request: IncomingMessage) => void,
  options: { readonly headers?: readonly string[]; readonly path?: string } = {},
): Promise<Answering> {
  const seen: Answering['seen'] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = [];
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      const bytes = Buffer.concat(pieces);
      seen.push({ request: incoming, body: bytes.toString('utf8'), bytes, closed });
      answer(response, incoming);
    });
    response.on('error', () => {});
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const upstream = openUpstream({
    baseUrl: `http://127.0.0.1:${port}${options.path ?? '/v1'}`,
    headers: options.headers ?? [],
    connectTimeoutMs: 5000,
  });
  stops.push(
    () => upstream.close(),
    () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  );
  return { upstream, seen, sockets, server };
}

function call(upstream: Upstream): { readonly heard: Heard; readonly made: UpstreamCall } {
  const heard = new Heard();
  return { heard, made: upstream.call(request, heard) };
}

describe('a call', () => {
  it('reports the response, its bytes and its end, in this order and once each', async () => {
    const { upstream } = await answering((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-secret': 'LEAK', 'retry-after': '7' });
      response.write('data: grü');
      response.end('ße\n\n');
    });
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['response 200', 'bytes', 'end']);
    expect(heard.body).toBe('data: grüße\n\n');
    expect(heard.headers).toEqual({ contentType: 'text/event-stream', retryAfter: '7', isDelimited: true });
  });

  it('tells whether an answer says where it ends', async () => {
    for (const [answer, isDelimited] of [
      ['content-length: 2\r\n\r\nhi', true],
      ['transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n', true],
      ['connection: close\r\n\r\nhi', false],
    ] as const) {
      const { upstream } = await answering((response) => response.socket?.end(`HTTP/1.1 200 OK\r\n${answer}`));
      const { heard } = call(upstream);
      await heard.over;
      expect(heard.headers).toMatchObject({ isDelimited });
      expect(heard.body).toBe('hi');
    }
  });

  it('sends the fixed headers, the key and the body, and nothing else', async () => {
    const { upstream, seen } = await answering((response) => response.end('{}'), {
      headers: ['authorization', 'Bearer sk-ours'],
      path: '/api/v1/',
    });
    await call(upstream).heard.over;
    const [sent] = seen;
    expect(sent?.request.method).toBe('POST');
    expect(sent?.request.url).toBe('/api/v1/chat/completions');
    expect(sent?.body).toBe(request.body);
    expect(sent?.request.headers).toEqual({
      host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(request.body)),
      'accept-encoding': 'identity',
      accept: 'text/event-stream',
      authorization: 'Bearer sk-ours',
    });
  });

  it('of a relayed request passes bytes and named headers on, and hands over the headers that were asked for', async () => {
    const { upstream, seen } = await answering(
      (response) => {
        response.writeHead(200, { 'x-sealed': 'yes', 'x-words': 'some words', 'x-secret': 'LEAK' });
        response.end('ok');
      },
      { headers: ['authorization', 'Bearer sk-ours'] },
    );
    const heard = new Heard();
    upstream.call(
      {
        path: '/e2e/invoke',
        body: Uint8Array.of(0, 255, 34, 10),
        accept: '*/*',
        contentType: 'application/octet-stream',
        headers: ['x-chute-id', 'c'],
        answerHeaders: ['x-sealed', 'x-words', 'x-absent'],
      },
      heard,
    );
    await heard.over;
    const [sent] = seen;
    expect(sent?.request.headers).toEqual({
      host: expect.any(String),
      connection: 'keep-alive',
      'content-type': 'application/octet-stream',
      'content-length': '4',
      'accept-encoding': 'identity',
      accept: '*/*',
      authorization: 'Bearer sk-ours',
      'x-chute-id': 'c',
    });
    expect(sent?.bytes).toEqual(Buffer.from([0, 255, 34, 10]));
    expect(heard.headers).toMatchObject({ relayed: ['x-sealed', 'yes'] });
  });

  it('sends no authorization where there is no key', async () => {
    const { upstream, seen } = await answering((response) => response.end('{}'));
    await call(upstream).heard.over;
    expect(seen[0]?.request.headers).not.toHaveProperty('authorization');
  });

  it('keeps its connection for the next, the body of a failed answer read to its end', async () => {
    const { upstream, sockets } = await answering((response) => {
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '3' });
      response.end('{"error":{}}');
    });
    for (let i = 0; i < 20; i += 1) {
      const { heard } = call(upstream);
      await heard.over;
      expect(heard.told).toEqual(['response 503', 'bytes', 'end']);
      expect(heard.headers?.retryAfter).toBe('3');
      // The pool hands the connection back after it has told of the end.
      await turn();
    }
    expect(sockets.size).toBe(1);
  });

  it('does not follow a redirect: it is the answer', async () => {
    const { upstream, seen } = await answering((response) => {
      response.writeHead(307, { location: '/elsewhere' });
      response.end();
    });
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['response 307', 'end']);
    expect(seen).toHaveLength(1);
  });

  it('passes over an interim response, and takes an answer that says it is not compressed', async () => {
    const { upstream } = await answering((response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</x>; rel=preload' });
      response.setHeader('content-encoding', 'identity');
      response.end('{}');
    });
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['response 200', 'bytes', 'end']);
  });

  it('takes a compressed answer for malformed, and closes', async () => {
    const { upstream, seen } = await answering((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(gzipSync('{"choices":[]}'));
    });
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['malformed_answer']);
    await seen[0]?.closed;
  });

  it('takes a failure for what its status says, compressed or not', async () => {
    const { upstream } = await answering((response) => {
      response.writeHead(429, { 'content-encoding': 'gzip', 'retry-after': '9' });
      response.end(gzipSync('{"error":{}}'));
    });
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['response 429', 'bytes', 'end']);
    expect(heard.headers?.retryAfter).toBe('9');
  });
});

describe('a call that fails', () => {
  it('finds nobody there: a network failure', async () => {
    const { upstream, server } = await answering(() => {});
    await new Promise((resolve) => server.close(resolve));
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['network_failure']);
  });

  it('is reset before any answer: a network failure', async () => {
    const { upstream } = await answering((response) => response.socket?.resetAndDestroy());
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['network_failure']);
  });

  it('is closed after the headers: a network failure, and no end', async () => {
    const { upstream } = await answering((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: a\n\n', () => response.destroy());
    });
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['response 200', 'bytes', 'network_failure']);
  });

  it('gets fewer bytes than were promised: a network failure', async () => {
    const { upstream } = await answering((response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"half":', () => response.destroy());
    });
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['response 200', 'bytes', 'network_failure']);
  });

  it('gets what is no HTTP: a network failure', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n\r\n'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const upstream = openUpstream({
      baseUrl: `http://127.0.0.1:${port}/v1`,
      headers: [],
      connectTimeoutMs: 5000,
    });
    stops.push(
      () => upstream.close(),
      () => new Promise((resolve) => server.close(resolve)),
    );
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['network_failure']);
  });

  it.each([
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['ECONNREFUSED', 'network_failure'],
  ])('tells by its code alone what happened: %s is a %s', (code, outcome) => {
    const failing = {
      dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
        handler.onResponseError?.(controller([]), Object.assign(new Error('SECRET'), { code }));
        return true;
      },
    } as unknown as Dispatcher;
    const upstream = openUpstream(
      { baseUrl: 'https://acme.example/v1', headers: [], connectTimeoutMs: 1 },
      () => failing,
    );
    const { heard } = call(upstream);
    expect(heard.told).toEqual([outcome]);
  });

  it('is made on a closed upstream: a network failure, not an exception', async () => {
    const { upstream } = await answering((response) => response.end('{}'));
    await upstream.close();
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['network_failure']);
  });
});

describe('abort', () => {
  it('closes the connection of a call that waits for its answer, and nothing more is heard', async () => {
    let asked = (): void => {};
    const wasAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { upstream, seen, sockets } = await answering(() => asked());
    const { heard, made } = call(upstream);
    await wasAsked;
    made.abort();
    await seen[0]?.closed;
    made.abort();
    expect(heard.told).toEqual([]);
    expect(sockets.size).toBe(0);
  });

  it('closes the connection of a stream in the middle, from within its own bytes', async () => {
    const { upstream, seen } = await answering((response) => {
      response.writeHead(200);
      response.write('data: 1\n\n');
      response.write('data: 2\n\n');
    });
    const { heard, made } = call(upstream);
    const aborted = new Promise<void>((resolve) => {
      heard.onPiece = () => {
        made.abort();
        resolve();
      };
    });
    await aborted;
    await seen[0]?.closed;
    expect(heard.told).toEqual(['response 200', 'bytes']);
  });

  it('before there is a connection ends the call all the same', async () => {
    const { upstream, seen, sockets } = await answering((response) => response.end('{}'));
    const { heard, made } = call(upstream);
    made.abort();
    // A further call shows that the upstream has gone on; by then the aborted one would have been heard of.
    await call(upstream).heard.over;
    expect(heard.told).toEqual([]);
    expect(seen.length).toBe(1);
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  it('after the end leaves the connection alone', async () => {
    const { upstream, sockets } = await answering((response) => response.end('{}'));
    const { heard, made } = call(upstream);
    await heard.over;
    made.abort();
    await turn();
    await call(upstream).heard.over;
    expect(heard.told.at(-1)).toBe('end');
    expect(sockets.size).toBe(1);
  });
});

describe('pause', () => {
  const size = 32 * 1024 * 1024;

  it('holds bytes back at the provider until resume, and loses none', async () => {
    let written = 0;
    let blocked = (): void => {};
    const isBlocked = new Promise<void>((resolve) => {
      blocked = resolve;
    });
    const piece = Buffer.alloc(64 * 1024, 120);
    const { upstream } = await answering((response) => {
      const write = (): void => {
        while (written < size) {
          written += piece.length;
          if (!response.write(piece)) {
            response.once('drain', write);
            blocked();
            return;
          }
        }
        response.end();
      };
      write();
    });
    const { heard, made } = call(upstream);
    await new Promise<void>((resolve) => {
      heard.onPiece = () => {
        made.pause();
        resolve();
      };
    });
    await isBlocked;
    // Whatever the sockets still hold arrives now; a paused call must not hear of it.
    const heardWhilePaused = heard.bytes;
    for (let i = 0; i < 50; i += 1) await turn();
    expect(heard.bytes).toBe(heardWhilePaused);
    expect(written).toBeLessThan(size);
    heard.onPiece = undefined;
    made.resume();
    await heard.over;
    expect(heard.bytes).toBe(size);
    expect(heard.told).toEqual(['response 200', 'bytes', 'end']);
  });

  it('before the response holds for its bytes', () => {
    const done: string[] = [];
    let handler: Dispatcher.DispatchHandler | undefined;
    const waiting = {
      dispatch(_: unknown, given: Dispatcher.DispatchHandler) {
        handler = given;
        return true;
      },
    } as unknown as Dispatcher;
    const upstream = openUpstream({ baseUrl: 'https://acme.example', headers: [], connectTimeoutMs: 1 }, () => waiting);
    const { made } = call(upstream);
    made.pause();
    handler?.onRequestStart?.(controller(done), {});
    expect(done).toEqual(['pause']);
    made.resume();
    expect(done).toEqual(['pause', 'resume']);
  });

  it('does not keep a call from being aborted', async () => {
    const { upstream, seen } = await answering((response) => {
      response.writeHead(200);
      response.write('data: 1\n\n');
    });
    const { heard, made } = call(upstream);
    await heard.responded;
    made.pause();
    made.abort();
    await seen[0]?.closed;
    expect(heard.told).not.toContain('network_failure');
  });
});

function controller(done: string[]): Dispatcher.DispatchController {
  return {
    abort: () => done.push('abort'),
    pause: () => done.push('pause'),
    resume: () => done.push('resume'),
  } as unknown as Dispatcher.DispatchController;
}
