import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { Pool } from 'undici';

/** Two calls of Redis for one request: the minimum for a gateway that keeps its money there. */
interface Book {
  take(): Promise<unknown>;
  give(): Promise<unknown>;
}

const takeScript = `
local account = redis.call('HMGET', KEYS[1] .. 'account', 'active', 'generation', 'funds', 'held', 'limit')
local window = redis.call('HMGET', KEYS[1] .. 'rate', 'window', 'requests', 'tokens')
redis.call('HSET', KEYS[1] .. 'holds', ARGV[8], ARGV[1] .. ' ' .. ARGV[9] .. ' ' .. ARGV[10])
redis.call('HINCRBY', KEYS[1] .. 'account', 'held', ARGV[9])
redis.call('HSET', KEYS[1] .. 'rate', 'window', 1, 'requests', (window[2] or 0) + 1, 'tokens', ARGV[10])
return {1, 'admitted', '', 600, 599, '2000000', '1999000', 60000}`;

const giveScript = `
redis.call('HDEL', KEYS[1] .. 'holds', ARGV[4])
redis.call('HINCRBY', KEYS[1] .. 'account', 'held', '-' .. ARGV[5])
redis.call('SET', KEYS[1] .. 'done:' .. ARGV[4], 'settled', 'PX', 60000, 'NX')
return {2, redis.call('XADD', KEYS[1] .. 'stream', 'MAXLEN', '~', 10000, '*', 'p', ARGV[8], 'm', ARGV[9]), 1}`;

/** Same length as a settlement with its signature. */
const payload = 'x'.repeat(640);
const signature = 'y'.repeat(44);
const key = 'pass-through:{0}:';

type Command = (key: string, ...args: readonly (string | number)[]) => Promise<unknown>;

function openBooks(url: string): () => Book {
  const redis = new Redis(url);
  const define = (name: string, lua: string): Command => {
    redis.defineCommand(name, { numberOfKeys: 1, lua });
    return (Reflect.get(redis, name) as Command).bind(redis);
  };
  const [take, give] = [define('takeHold', takeScript), define('giveHold', giveScript)];
  const client = randomUUID();
  const hash = 'a'.repeat(64);
  return () => {
    const id = randomUUID();
    return {
      take: () => take(key, client, 1, 1000, 1_700_000_000_000, 'key', hash, 1, id, 250_000, 40, ''),
      give: () => give(key, client, 1, 1000, id, 250_000, 120, 60_000, payload, signature),
    };
  };
}

/**
 * The floor: a bare Fastify in front of undici. It parses the body, buffers JSON, and forwards streams with raw writes.
 * With `stream-send` it forwards streams with `reply.send(body)`, as most gateways do. With Redis it calls two scripts
 * for each request, before and after it, with arguments and replies as long as the broker's.
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
