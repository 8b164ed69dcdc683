import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { Pool } from 'undici';
import { openBooks } from './books.ts';

/**
 * The floor: a bare Fastify in front of undici. The body is parsed; JSON is buffered; streams are dispatched with raw
 * writes. With `stream-send` streams go by `reply.send(body)`, the way most gateways do it. With a Redis each request
 * makes two calls of scripts there, before and after, with arguments and replies as long as those of the broker.
 */
const [upstream = '', variant = 'floor', redisUrl] = process.argv.slice(2);
const openBook = redisUrl === undefined ? undefined : openBooks(redisUrl);
const { origin, pathname } = new URL(upstream);
const pool = new Pool(origin, { connections: null, pipelining: 1, keepAliveTimeout: 60_000 });
const app = Fastify({ logger: false, bodyLimit: 64 * 1024 * 1024 });

app.post<{ Body: { stream?: boolean } }>('/v1/chat/completions', async (request, reply) => {
  const options = {
    path: `${pathname}/chat/completions`,
    method: 'POST' as const,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  };
  const book = openBook?.();
  await book?.take();
  if (request.body.stream !== true) {
    const answer = await pool.request(options);
    const body = Buffer.from(await answer.body.arrayBuffer());
    await book?.give();
    return reply.code(answer.statusCode).header('content-type', 'application/json').send(body);
  }
  if (variant === 'stream-send') {
    const answer = await pool.request(options);
    return reply.code(answer.statusCode).header('content-type', 'text/event-stream').send(answer.body);
  }
  reply.hijack();
  const { raw } = reply;
  let controller: { abort(reason: Error): void; pause(): void; resume(): void } | undefined;
  raw.once('close', () => {
    if (!raw.writableFinished) controller?.abort(new Error('left'));
  });
  pool.dispatch(options, {
    onRequestStart(started) {
      controller = started;
    },
    onResponseStart(_controller, status) {
      raw.writeHead(status, { 'content-type': 'text/event-stream' });
    },
    onResponseData(_controller, chunk) {
      if (raw.write(chunk)) return;
      controller?.pause();
      raw.once('drain', () => controller?.resume());
    },
    onResponseEnd: () => void (book?.give() ?? Promise.resolve()).then(() => raw.end()),
    onResponseError: () => void raw.destroy(),
  });
  return reply;
});

await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port: (app.server.address() as AddressInfo).port });
