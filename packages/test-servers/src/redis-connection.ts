import { Redis } from 'ioredis';

/** Runs `use` on its own connection, without retries, and closes it. Rejects if the server does not answer. */
export async function withRedis<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: 1000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

/** Whether the server answers. It does not while it loads its files. */
export async function answers(url: string): Promise<boolean> {
  return withRedis(url, (redis) => redis.ping()).then(
    () => true,
    () => false,
  );
}
