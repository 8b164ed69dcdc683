import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/** One request's two calls of Redis: what any gateway with its money there needs at least. */
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

/** As long as a settlement and its signature are. */
const payload = 'x'.repeat(640);
const signature = 'y'.repeat(44);
const key = 'pass-through:{0}:';

type Command = (key: string, ...args: readonly (string | number)[]) => Promise<unknown>;

export function openBooks(url: string): () => Book {
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
