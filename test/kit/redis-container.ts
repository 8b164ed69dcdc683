import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import type { OwnRedis, OwnRedisOptions } from './redis.ts';
import { answers, withRedis } from './redis-connection.ts';

const ENGINE_TIMEOUT_MS = 900;
const START_TIMEOUT_MS = 30_000;
const POLL_MS = 50;

const docker = (args: readonly string[], options: { timeout?: number } = {}) =>
  promisify(execFile)('docker', args, options);

/** A Redis in a container; undefined where no Docker engine answers, or no image can be had. */
export async function startRedisContainer(options: OwnRedisOptions): Promise<OwnRedis | undefined> {
  try {
    await docker(['version', '--format', '{{.Server.Version}}'], { timeout: ENGINE_TIMEOUT_MS });
    return await start(options);
  } catch {
    return undefined;
  }
}

async function start({ appendOnly = false, databases = 16 }: OwnRedisOptions): Promise<OwnRedis> {
  const { GenericContainer } = await import('testcontainers');
  const durability = appendOnly ? ['--appendonly', 'yes', '--appendfsync', 'always'] : [];
  // A port of our choosing, because Docker would choose another at a restart.
  const port = await freePort();
  const container = await new GenericContainer('redis:7')
    .withCommand([
      'redis-server',
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
      '--databases',
      String(databases),
      ...durability,
    ])
    .withExposedPorts({ container: 6379, host: port })
    .start();
  const id = container.getId();
  const url = `redis://127.0.0.1:${port}`;
  return {
    url,
    nodes: [url],
    pid: undefined,
    kill9: async () => {
      await docker(['kill', '--signal', 'KILL', id]);
    },
    restart: async () => {
      await docker(['restart', id]);
      for (const deadline = Date.now() + START_TIMEOUT_MS; !(await answers(url)); await sleep(POLL_MS)) {
        if (Date.now() > deadline) throw new Error('the Redis container does not answer after its restart');
      }
    },
    flush: () => withRedis(url, async (redis) => void (await redis.flushall())),
    pause: async () => {
      await docker(['pause', id]);
    },
    resume: async () => {
      await docker(['unpause', id]);
    },
    stop: async () => {
      await container.stop();
    },
  };
}
