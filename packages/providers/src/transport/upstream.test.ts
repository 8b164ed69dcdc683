import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
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

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Begins an answer with this status, headers and pieces. */
const begins =
  (status: number, headers: OutgoingHttpHeaders = {}, ...pieces: readonly (string | Buffer)[]): Answer =>
  (response) => {
    response.writeHead(status, headers);
    for (const piece of pieces) response.write(piece);
  };
/** The same, to its end. */
const answers =
  (...parts: Parameters<typeof begins>): Answer =>
  (response, request) => {
    begins(...parts)(response, request);
    response.end();
  };
/** The same, and closes the connection before the end. */
const breaksOff =
  (headers: OutgoingHttpHeaders, piece: string): Answer =>
  (response) => {
    response.writeHead(200, headers);
    response.write(piece, () => response.destroy());
  };

/** A provider on loopback, and the upstream that calls it. */
async function answering(
  answer: Answer = answers(200, {}, '{}'),
  { headers = [], path = '/v1' }: { readonly headers?: readonly string[]; readonly path?: string } = {},
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
  const upstream = openUpstream({ baseUrl: `http://127.0.0.1:${port}${path}`, headers, connectTimeoutMs: 5000 });
  stops.push(
    () => upstream.close(),
    () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  );
  return { upstream, seen, sockets, server };
}

function call(
  upstream: Upstream,
  asked: Parameters<Upstream['call']>[0] = request,
): { readonly heard: Heard; readonly made: UpstreamCall } {
  const heard = new Heard();
  return { heard, made: upstream.call(asked, heard) };
}

/** A call whose connection the test plays. */
function played() {
  let handler: Dispatcher.DispatchHandler = {};
  const done: string[] = [];
  const dispatcher = {
    dispatch(_: unknown, given: Dispatcher.DispatchHandler) {
      handler = given;
      return true;
    },
  } as unknown as Dispatcher;
  const address = { baseUrl: 'https://acme.example/v1', headers: [], connectTimeoutMs: 1 };
  const { heard, made } = call(openUpstream(address, () => dispatcher));
  const controller = {
    pause: () => done.push('pause'),
    resume: () => done.push('resume'),
    abort: () => done.push('abort'),
  } as unknown as Dispatcher.DispatchController;
  return { heard, made, handler, controller, done };
}

it('has begun once a connection stands, and not before', () => {
  const { made, handler, controller } = played();
  expect(made.hasBegun).toBe(false);
  handler.onRequestStart?.(controller, {});
  expect(made.hasBegun).toBe(true);
});

/** Does this within `onBytes`, and waits for it. */
const firstPiece = (heard: Heard, act: () => void): Promise<void> =>
  new Promise((resolve) => {
    heard.onPiece = () => {
      act();
      resolve();
    };
  });

/** Calls a provider that answers so, and waits until the call is over. */
async function heardFrom(...provider: Parameters<typeof answering>): Promise<Answering & { readonly heard: Heard }> {
  const made = await answering(...provider);
  const { heard } = call(made.upstream);
  await heard.over;
  return { ...made, heard };
}

describe('a call', () => {
  it('reports the response, its bytes and its end, once each and in this order', async () => {
    const headers = { 'content-type': 'text/event-stream', 'x-secret': 'LEAK', 'retry-after': '7' };
    const { heard } = await heardFrom(answers(200, headers, 'data: grü', 'ße\n\n'));
    expect(heard.told).toEqual(['response 200', 'bytes', 'end']);
    expect(heard.body).toBe('data: grüße\n\n');
    expect(heard.headers).toEqual({ contentType: 'text/event-stream', retryAfter: '7', isDelimited: true });
  });

  it('reports whether an answer states its length or framing', async () => {
    for (const [answer, isDelimited] of [
      ['content-length: 2\r\n\r\nhi', true],
      ['transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n', true],
      ['connection: close\r\n\r\nhi', false],
    ] as const) {
      const { heard } = await heardFrom((response) => response.socket?.end(`HTTP/1.1 200 OK\r\n${answer}`));
      expect(heard.headers).toMatchObject({ isDelimited });
      expect(heard.body).toBe('hi');
    }
  });

  it.each([
    ['the key', ['authorization', 'Bearer sk-ours'], { authorization: 'Bearer sk-ours' }],
    ['no key where there is none', [], {}],
  ])('sends the fixed headers, the body, %s, and nothing else', async (_, headers, authorization) => {
    const { seen } = await heardFrom(undefined, { headers, path: '/api/v1/' });
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
      ...authorization,
    });
  });

  it('of a relayed request forwards its bytes and headers, and returns the requested headers', async () => {
    const headers = { 'x-sealed': 'yes', 'x-words': 'some words', 'x-secret': 'LEAK' };
    const key = ['authorization', 'Bearer sk-ours'];
    const { upstream, seen } = await answering(answers(200, headers, 'ok'), { headers: key });
    const { heard } = call(upstream, {
      path: '/e2e/invoke',
      body: Uint8Array.of(0, 255, 34, 10),
      accept: '*/*',
      contentType: 'application/octet-stream',
      headers: ['x-chute-id', 'c'],
      answerHeaders: ['x-sealed', 'x-words', 'x-absent'],
    });
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

  it('reuses its connection after it has read the body of a failed answer', async () => {
    const { upstream, sockets } = await answering(answers(503, { 'retry-after': '3' }, '{"error":{}}'));
    for (let i = 0; i < 20; i += 1) {
      const { heard } = call(upstream);
      await heard.over;
      expect(heard.told).toEqual(['response 503', 'bytes', 'end']);
      expect(heard.headers?.retryAfter).toBe('3');
      // The pool releases the connection only after it reports the end.
      await turn();
    }
    expect(sockets.size).toBe(1);
  });

  it('returns a redirect as the answer instead of following it', async () => {
    const { heard, seen } = await heardFrom(answers(307, { location: '/elsewhere' }));
    expect(heard.told).toEqual(['response 307', 'end']);
    expect(seen).toHaveLength(1);
  });

  it('skips interim responses, and accepts the encoding `identity`', async () => {
    const { heard } = await heardFrom((response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</x>; rel=preload' });
      response.setHeader('content-encoding', 'identity');
      response.end('{}');
    });
    expect(heard.told).toEqual(['response 200', 'bytes', 'end']);
  });

  it('treats a compressed answer as malformed, and closes the connection', async () => {
    const { heard, seen } = await heardFrom(begins(200, { 'content-encoding': 'gzip' }, gzipSync('{"choices":[]}')));
    expect(heard.told).toEqual(['malformed_answer']);
    await seen[0]?.closed;
  });

  it('classifies a failed answer by its status, compressed or not', async () => {
    const headers = { 'content-encoding': 'gzip', 'retry-after': '9' };
    const { heard } = await heardFrom(answers(429, headers, gzipSync('{"error":{}}')));
    expect(heard.told).toEqual(['response 429', 'bytes', 'end']);
    expect(heard.headers?.retryAfter).toBe('9');
  });
});

describe('a call that fails', () => {
  it('is a network failure if the connection is refused', async () => {
    const { upstream, server } = await answering();
    await new Promise((resolve) => server.close(resolve));
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['network_failure']);
  });

  const begun = ['response 200', 'bytes'];
  it.each<[string, string[], Answer]>([
    ['the connection is reset before an answer', [], (response) => response.socket?.resetAndDestroy()],
    ['it is closed after the headers, without an end', begun, breaksOff({}, 'data: a\n\n')],
    ['fewer bytes arrive than were announced', begun, breaksOff({ 'content-length': '100' }, '{"half":')],
    ['the answer is not HTTP', [], (response) => response.socket?.end('SSH-2.0-OpenSSH\r\n\r\n')],
  ])('is a network failure if %s', async (_, before, answer) => {
    expect((await heardFrom(answer)).heard.told).toEqual([...before, 'network_failure']);
  });

  it.each([
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['ECONNREFUSED', 'network_failure'],
  ])('is classified only by its code: %s is a %s', (code, outcome) => {
    const { heard, handler, controller } = played();
    handler.onResponseError?.(controller, Object.assign(new Error('SECRET'), { code }));
    expect(heard.told).toEqual([outcome]);
  });

  it('is a network failure, not an exception, on a closed upstream', async () => {
    const { upstream } = await answering();
    await upstream.close();
    const { heard } = call(upstream);
    await heard.over;
    expect(heard.told).toEqual(['network_failure']);
  });
});

describe('abort', () => {
  it('closes the connection of a call that waits for its answer, and reports nothing more', async () => {
    const { promise: wasAsked, resolve: asked } = Promise.withResolvers<void>();
    const { upstream, seen, sockets } = await answering(() => asked());
    const { heard, made } = call(upstream);
    await wasAsked;
    made.abort();
    await seen[0]?.closed;
    made.abort();
    expect(heard.told).toEqual([]);
    expect(sockets.size).toBe(0);
  });

  it('closes the connection of a running stream, from its own `onBytes`', async () => {
    const { upstream, seen } = await answering(begins(200, {}, 'data: 1\n\n', 'data: 2\n\n'));
    const { heard, made } = call(upstream);
    await firstPiece(heard, () => made.abort());
    await seen[0]?.closed;
    expect(heard.told).toEqual(['response 200', 'bytes']);
  });

  it('ends a call that has no connection yet', async () => {
    const { upstream, seen, sockets } = await answering();
    const { heard, made } = call(upstream);
    made.abort();
    // A second call shows that the upstream has moved on. By then it would have reported the aborted call.
    await call(upstream).heard.over;
    expect(heard.told).toEqual([]);
    expect(seen.length).toBe(1);
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  it('leaves the connection alone after the end', async () => {
    const { upstream, sockets } = await answering();
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

  it('stops the provider until resume, and loses no bytes', async () => {
    let written = 0;
    const { promise: isBlocked, resolve: blocked } = Promise.withResolvers<void>();
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
    await firstPiece(heard, () => made.pause());
    await isBlocked;
    // Data that is still in the sockets arrives now. A paused call must not receive it.
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

  it('applies to the bytes if it precedes the response', () => {
    const { made, handler, controller, done } = played();
    made.pause();
    handler.onRequestStart?.(controller, {});
    expect(done).toEqual(['pause']);
    made.resume();
    expect(done).toEqual(['pause', 'resume']);
  });

  it('does not keep a call from being aborted', async () => {
    const { upstream, seen } = await answering(begins(200, {}, 'data: 1\n\n'));
    const { heard, made } = call(upstream);
    await heard.responded;
    made.pause();
    made.abort();
    await seen[0]?.closed;
    expect(heard.told).not.toContain('network_failure');
  });
});
