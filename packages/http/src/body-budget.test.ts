import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServiceError } from '@sotto/wire';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { boundArrivingBodies } from './body-budget.ts';

const large = 100 * 1024;
let app: FastifyInstance;
const open: ClientRequest[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) one.destroy();
  await app.close();
});

async function listen(budget: number): Promise<number> {
  app = Fastify({ bodyLimit: 2 * large });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setErrorHandler((error, _request, reply) =>
    reply.code(error instanceof ServiceError ? error.status : 413).send(String(error)),
  );
  boundArrivingBodies(app, { bodyLimit: 2 * large, budget });
  app.post('/', async ({ body }) => String((body as Buffer).length));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

function begin(port: number, headers: Record<string, string | number>) {
  const sent = request({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-type': 'x/y', ...headers } });
  open.push(sent);
  const answer = new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', async (response: IncomingMessage) => {
      let text = '';
      for await (const piece of response) text += piece;
      resolve({ status: response.statusCode, text });
    });
  });
  answer.catch(() => {});
  return { sent, answer };
}

const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

describe('bodies that are arriving', () => {
  it('counts what is announced until it has come, and refuses what is too much with it', async () => {
    const port = await listen(2.5 * large);
    const [one, two] = [0, 1].map(() => begin(port, { 'content-length': large }));
    for (const begun of [one, two]) begun?.sent.write(Buffer.alloc(10));
    await moment();
    const third = begin(port, { 'content-length': large });
    third.sent.end(Buffer.alloc(large));
    expect((await third.answer).status).toBe(503);
    const small = begin(port, { 'content-length': 5 });
    small.sent.end('hello');
    expect(await small.answer).toEqual({ status: 200, text: '5' });
    one?.sent.end(Buffer.alloc(large - 10));
    expect(await one?.answer).toEqual({ status: 200, text: String(large) });
    const fourth = begin(port, { 'content-length': large });
    fourth.sent.end(Buffer.alloc(large));
    expect((await fourth.answer).status).toBe(200);
  });

  it('forgets a body whose client has left', async () => {
    const port = await listen(1.5 * large);
    const left = begin(port, { 'content-length': large });
    left.sent.write(Buffer.alloc(10));
    await moment();
    left.sent.destroy();
    await moment();
    const next = begin(port, { 'content-length': large });
    next.sent.end(Buffer.alloc(large));
    expect((await next.answer).status).toBe(200);
  });

  it('counts what has come of one that announces nothing, and takes it whole where there is room', async () => {
    const port = await listen(1.5 * large);
    const first = begin(port, { 'transfer-encoding': 'chunked' });
    first.sent.write(Buffer.alloc(large));
    await moment();
    const second = begin(port, { 'transfer-encoding': 'chunked' });
    second.sent.write(Buffer.alloc(large));
    expect((await second.answer).status).toBe(503);
    second.sent.destroy();
    await moment();
    first.sent.end(Buffer.alloc(10));
    expect(await first.answer).toEqual({ status: 200, text: String(large + 10) });
    const third = begin(port, { 'transfer-encoding': 'chunked' });
    third.sent.end(Buffer.alloc(large));
    expect(await third.answer).toEqual({ status: 200, text: String(large) });
  });
});
