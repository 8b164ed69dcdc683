import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createServer, type ServerOptions } from '../server.ts';

/** Overrides the default of 1 s, which is too short on a busy machine. */
const hangMs = 30_000;

const kib = 1024;
const large = 100 * kib;
const [one, other] = ['203.0.113.1', '203.0.113.2'];

let app: FastifyInstance;
let port: number;
/** Requests that wait in the credential hook. */
let lookedAt: (() => void)[] = [];
/** Requests whose handler keeps their body. */
let kept: (() => void)[] = [];
const opened: ClientRequest[] = [];
afterEach(async () => {
  for (const sent of opened.splice(0)) sent.destroy();
  await app.close();
});

async function listen(options: Partial<ServerOptions> = {}): Promise<void> {
  app = createServer({
    ...{ bodyLimit: 32 * 1024 * kib, maxHeaderBytes: 16 * kib, trustProxy: '127.0.0.1' },
    isOpenToPages: () => false,
    onShed: () => {},
    onUnexpected: (error) => expect.unreachable(JSON.stringify(error)),
    ...options,
  });
  lookedAt = [];
  kept = [];
  app.post('/', async ({ body }) => String((body as Buffer).length));
  const refuse = async (): Promise<void> => {
    throw new ServiceError('ticket_required');
  };
  app.post('/refused', { config: { beforeBody: refuse } }, async () => 'not refused');
  const hold = () => new Promise<void>((resolve) => lookedAt.push(resolve));
  app.post('/held', { config: { beforeBody: hold } }, async ({ body }) => String((body as Buffer).length));
  const byTicket = async (request: FastifyRequest): Promise<void> =>
    app.requestBodies.countBy(request, { id: `ticket ${request.headers['x-router-ticket']}` });
  app.post('/ticketed', { config: { beforeBody: byTicket } }, async ({ body }) => String((body as Buffer).length));
  // Keeps its body until the test lets go of it, as a handler does that may send the body again.
  app.post('/kept', async (request) => {
    const letGo = app.requestBodies.keep(request);
    await new Promise<void>((resolve) => kept.push(resolve)).finally(letGo);
    return 'done';
  });
  app.post('/failing', async () => {
    throw new ServiceError('invalid_request');
  });
  app.post('/short', { bodyLimit: 10 }, async ({ body }) => String((body as Buffer).length));
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
}

interface Begun {
  readonly sent: ClientRequest;
  readonly answer: Promise<{ readonly status: number | undefined; readonly text: string; readonly headers: object }>;
}

interface Sent {
  readonly from?: string;
  readonly path?: string;
  readonly length?: number;
  readonly ticket?: string;
}

/** Starts a request with a body of `length` bytes, or of unknown length, that the test writes later. */
function begin({ from = one, path = '/', length, ticket = '' }: Sent): Begun {
  const framing = length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length };
  const headers = {
    'content-type': 'application/json',
    'x-forwarded-for': from,
    'x-router-ticket': ticket,
    ...framing,
  };
  const sent = request({ port, path, host: '127.0.0.1', method: 'POST', agent: false, headers });
  opened.push(sent);
  sent.flushHeaders();
  const answer = new Promise<Awaited<Begun['answer']>>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', async (response: IncomingMessage) => {
      let text = '';
      for await (const piece of response) text += piece;
      resolve({ status: response.statusCode, text, headers: response.headers });
    });
  });
  answer.catch(() => {});
  return { sent, answer };
}

/** Sends a whole body and returns the status. */
async function send(bytes: number, from = one, more: Sent = {}): Promise<number | undefined> {
  const { sent, answer } = begin({ ...more, from, length: bytes });
  sent.end(Buffer.alloc(bytes));
  return (await answer).status;
}

/** Makes an address or ticket hold as much memory as it can with bodies that do not end. */
async function flood(from: string, more: Sent = {}): Promise<void> {
  for (let body = 0; body < 40; body += 1) {
    const { sent, answer } = begin({ ...more, from, length: 2 * large });
    let status: number | undefined;
    answer.then(
      (refused) => {
        status = refused.status;
      },
      () => {},
    );
    const before = app.requestBodies.held;
    sent.write(Buffer.alloc(large));
    await vi.waitFor(() => expect(status !== undefined || app.requestBodies.held >= before + large).toBe(true), hangMs);
    if (status !== undefined) return;
  }
  expect.unreachable('the address was never refused');
}

describe('bodies that are announced and not sent', () => {
  it('hold no memory: sixteen that announce 32 MiB each do not keep other clients from sending', async () => {
    await listen();
    for (let socket = 0; socket < 16; socket += 1) begin({ length: 32 * 1024 * kib }).sent.write('{');
    await vi.waitFor(() => expect(app.requestBodies.held).toBe(16), hangMs);
    expect([await send(large), await send(8 * 1024 * kib), await send(large, other)]).toEqual([200, 200, 200]);
  });

  it('are not awaited if the credential is rejected', async () => {
    await listen();
    for (const length of [32 * 1024 * kib, undefined]) {
      const { sent, answer } = begin({ path: '/refused', ...(length === undefined ? {} : { length }) });
      sent.write('{');
      expect((await answer).status).toBe(401);
    }
    expect(app.requestBodies.held).toBe(0);
  });

  it('are not awaited if no route has the address', async () => {
    await listen();
    const { sent, answer } = begin({ path: '/v1/nothing', length: 32 * 1024 * kib });
    sent.write('{');
    expect((await answer).status).toBe(404);
  });

  it('are 413 at once if they exceed the limit of their route', async () => {
    await listen();
    for (const [path, length] of [
      ['/', 32 * 1024 * kib + 1],
      ['/short', 11],
    ] as const) {
      const { sent, answer } = begin({ path, length });
      sent.write('{');
      expect((await answer).status).toBe(413);
    }
  });
});

describe('bodies that arrive', () => {
  it('may take a quarter of the budget from one address, and leave room for others', async () => {
    await listen({ bodyBudget: 10 * large });
    await flood(one);
    expect(app.requestBodies.held).toBeLessThanOrEqual(2.5 * large);
    expect(await send(large, other)).toBe(200);
    const refused = begin({ from: one, length: 3 * large });
    refused.sent.write(Buffer.alloc(3 * large - 1));
    const { status, text, headers } = await refused.answer;
    expect([status, headers]).toMatchObject([503, { 'retry-after': '1' }]);
    expect(text).toContain('from you alone');
  });

  it('count by ticket once that is verified, so that others at its address find room', async () => {
    await listen({ bodyBudget: 20 * large });
    const [mine, yours] = ['one', 'other'].map((ticket) => ({ path: '/ticketed', ticket }));
    await flood(one, mine);
    expect(await send(3 * large, other, mine)).toBe(503);
    expect(await send(3 * large, one, yours)).toBe(200);
    // The address has its own count, for bodies without a ticket.
    expect(await send(3 * large, one)).toBe(200);
    await flood(one);
    expect(await send(2 * large, one, yours)).toBe(200);
  });

  it('leave room for the next address even if many addresses send them', async () => {
    await listen({ bodyBudget: 40 * large });
    for (let flooding = 0; flooding < 5; flooding += 1) await flood(`203.0.113.${100 + flooding}`);
    expect(await send(large, other)).toBe(200);
  });

  it.each([
    ['an IPv6 network', '2001:db8::1', '2001:db8::ffff:2', '2001:db8:0:1::1'],
    ['an IPv4 address', '203.0.113.7', '::ffff:cb00:7107', '::ffff:203.0.113.8'],
  ])('count together from %s', async (_, first, same, another) => {
    await listen({ bodyBudget: 10 * large });
    await flood(first);
    expect(await send(3 * large, same)).toBe(503);
    expect(await send(large, another)).toBe(200);
  });

  it('are released once they are answered, rejected, or abandoned by their client', async () => {
    await listen({ bodyBudget: 20 * large });
    const left = begin({ length: large });
    left.sent.write(Buffer.alloc(large - 1));
    await vi.waitFor(() => expect(app.requestBodies.held).toBeGreaterThanOrEqual(large - 1), hangMs);
    left.sent.destroy();
    await vi.waitFor(() => expect(app.requestBodies.held).toBe(0), hangMs);
    expect(await send(4 * large)).toBe(200);
    await nothingHeld();
    const tooLarge = begin({ path: '/short' });
    tooLarge.sent.write('eleven chars');
    expect((await tooLarge.answer).status).toBe(413);
    expect(app.requestBodies.held).toBe(0);
  });

  it('arrive whole in chunks of any size', async () => {
    await listen();
    const { sent, answer } = begin({});
    for (let byte = 0; byte < 3000; byte += 1) sent.write('x');
    sent.end();
    expect(await answer).toMatchObject({ status: 200, text: '3000' });
  });

  it('wait for the credential check, and lose no bytes meanwhile', async () => {
    await listen();
    const { sent, answer } = begin({ path: '/held', length: large });
    sent.end(Buffer.alloc(large));
    await vi.waitFor(() => expect(lookedAt).toHaveLength(1), hangMs);
    lookedAt[0]?.();
    expect(await answer).toMatchObject({ status: 200, text: String(large) });
  });

  it('hold no memory if the client leaves during the credential check', async () => {
    const refused: string[] = [];
    await listen({ onRefused: ({ type }) => refused.push(type) });
    const { sent } = begin({ path: '/held', length: large });
    sent.write(Buffer.alloc(1000));
    await vi.waitFor(() => expect(lookedAt).toHaveLength(1), hangMs);
    const gone = new Promise<void>((resolve) => app.server.once('connection', () => resolve()));
    sent.destroy();
    // The server accepts a later connection only after it has read the end of the earlier one.
    connect(port, '127.0.0.1')
      .on('error', () => {})
      .end();
    await gone;
    await vi.waitFor(async () => expect(await connections()).toBe(0), hangMs);
    lookedAt[0]?.();
    await vi.waitFor(() => expect(refused).toEqual(['invalid_request']), hangMs);
    expect(app.requestBodies.held).toBe(0);
  });
});

/** Waits until no request holds memory. A client may have an answer before the server notices that it has left. */
const nothingHeld = () => vi.waitFor(() => expect(app.requestBodies.held).toBe(0), hangMs);

describe('requests whose bodies have arrived', () => {
  it('count until they are answered, with the weight of their bodies, even if the client leaves', async () => {
    await listen({ bodyBudget: 40 * large, bodyWeight: 3 });
    const { sent } = begin({ path: '/kept', length: large });
    sent.end(Buffer.alloc(large));
    await vi.waitFor(() => expect(kept).toHaveLength(1), hangMs);
    expect(app.requestBodies.held).toBe(3 * large);
    expect(await send(3 * large)).toBe(503);
    expect(await send(3 * large, other)).toBe(200);
    sent.destroy();
    await vi.waitFor(async () => expect(await connections()).toBe(0), hangMs);
    expect(app.requestBodies.held).toBe(3 * large);
    kept[0]?.();
    await nothingHeld();
  });

  it('leave nothing behind, however they end', async () => {
    await listen({ bodyBudget: 30 * large, bodyIdleMs: 100 });
    const ends = ['/', '/kept', '/failing', '/refused', '/short', '/nowhere'].flatMap((path) =>
      (['whole', 'left', 'left when whole', 'stalled'] as const).map((end) => ({ path, end })),
    );
    const from = (at: number): string => `203.0.113.${at % 5}`;
    await Promise.all(
      [...ends, ...ends].map(async ({ path, end }, at) => {
        const { sent, answer } = begin({ path, from: from(at), ...(at % 2 === 0 ? {} : { length: 2 * large }) });
        sent.write(Buffer.alloc(large));
        if (end === 'whole' || end === 'left when whole') sent.end(Buffer.alloc(large));
        if (end === 'left' || end === 'left when whole') setImmediate(() => sent.destroy());
        const letAllGo = setInterval(() => {
          for (const letGo of kept.splice(0)) letGo();
        }, 5);
        await answer.catch(() => {});
        clearInterval(letAllGo);
      }),
    );
    await vi.waitFor(async () => {
      for (const letGo of kept.splice(0)) letGo();
      expect(app.requestBodies.held).toBe(0);
    }, hangMs);
  });
});

const connections = (): Promise<number> =>
  new Promise((resolve, reject) =>
    app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );

describe('bodies that stall', () => {
  it('are 408 with a clear message, whatever their size and the length they announce', async () => {
    await listen({ bodyIdleMs: 50 });
    const stalled = [{ length: 32 * 1024 * kib }, { length: 5 }, {}].map((framing) => {
      const begun = begin(framing);
      begun.sent.write('{');
      return begun;
    });
    for (const { answer } of stalled) {
      const { status, text } = await answer;
      expect([status, JSON.parse(text).error]).toMatchObject([
        408,
        { type: 'request_timeout', message: 'No byte of the body has come for 0.05 s. Send the request again.' },
      ]);
    }
    expect(app.requestBodies.held).toBe(0);
  });

  it('are 408 if they are large and come byte by byte', async () => {
    await listen({ bodyIdleMs: 100 });
    const { sent, answer } = begin({ length: 2 * large });
    sent.write(Buffer.alloc(large));
    const dripping = setInterval(() => sent.write('x'), 5);
    const { status, text } = await answer;
    clearInterval(dripping);
    expect([status, JSON.parse(text).error.type]).toEqual([408, 'request_timeout']);
    expect(text).toContain('less than 4096 bytes a second');
  });
});
