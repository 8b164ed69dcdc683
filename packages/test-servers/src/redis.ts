import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { onPath } from './on-path.ts';
import { startRedisCluster } from './redis-cluster.ts';
import { answers, withRedis } from './redis-connection.ts';
import { startRedisProcess } from './redis-process.ts';

/** A Redis database for tests, empty at first. */
export interface TestRedis {
  /** The `redis://` URL. For a cluster, the URL of its first node with `?cluster=1`. */
  readonly url: string;
  /** Deletes everything in it. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** A Redis of one test file, or a cluster of three masters. `kill9` and similar functions affect all nodes. */
export interface OwnRedis extends TestRedis {
  /** The `redis://` URLs of the nodes: one, unless it is a cluster. */
  readonly nodes: readonly string[];
  /**
   * The id of the present process, or of a cluster's first node. Undefined if it is not our child. Changes at
   * `restart()`.
   */
  readonly pid: number | undefined;
  /** Kills it with SIGKILL, and resolves when it is gone. */
  kill9(): Promise<void>;
  /** Starts it on the same port and folder; stops it first if it runs. With `appendOnly` it keeps its data. */
  restart(): Promise<void>;
  /** Stops it with SIGSTOP: connections stay open, and it answers nothing until `resume()`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** The options of a test's own Redis. */
export interface OwnRedisOptions {
  /** Every write is on disk before Redis answers it. */
  readonly appendOnly?: boolean;
  /** Three masters, without replicas. Never a container. */
  readonly cluster?: boolean;
  /** A file of users. Never a container. */
  readonly aclFile?: string;
  /** The number of databases. Default: 16. */
  readonly databases?: number;
  /** The folder for the data of our process. Default: the machine's temporary folder. */
  readonly within?: string;
  /** More variables for our process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** How to run the tests that need Redis. */
export const redisSkipReason = 'put redis-server (7 or later) or valkey-server on the PATH, or start Docker.';

/**
 * Returns a database of the Redis that a test run shares. Starts a server if none is shared, as
 * in a benchmark. Without Redis it resolves to undefined, so that the test can skip; with SOTTO_REQUIRE_REDIS=1 it
 * rejects.
 */
export async function startTestRedis(): Promise<TestRedis | undefined> {
  const shared = process.env[sharedRedisVariable];
  if (shared === undefined) return startOwnRedis();
  const url = new URL(shared);
  url.pathname = `/${await withRedis(shared, (redis) => redis.incr('databases-given-away'))}`;
  const flush = () => withRedis(url.href, async (redis) => void (await redis.flushdb()));
  return { url: url.href, flush, stop: flush };
}

/** The variable with the URL of the Redis that a test run shares. Its database 0 counts the databases given away. */
export const sharedRedisVariable = 'SOTTO_TEST_SHARED_REDIS';

/** Whether this test run has a Redis. */
export const hasSharedRedis = process.env[sharedRedisVariable] !== undefined;

/**
 * Starts a private Redis from the PATH, or else a container, for tests that break it, observe it or configure it.
 * Without Redis it resolves to undefined; with SOTTO_REQUIRE_REDIS=1 it rejects.
 */
export async function startOwnRedis(options: OwnRedisOptions = {}): Promise<OwnRedis | undefined> {
  const { cluster = false, aclFile } = options;
  const program = onPath('redis-server', 'valkey-server');
  if (program !== undefined) {
    return cluster ? startRedisCluster(program, options) : startRedisProcess(program, options);
  }
  const container = cluster || aclFile !== undefined ? undefined : await startRedisContainer(options);
  if (container === undefined && process.env.SOTTO_REQUIRE_REDIS === '1') {
    throw new Error(`no Redis, but SOTTO_REQUIRE_REDIS=1: ${redisSkipReason}`);
  }
  return container;
}

const ENGINE_TIMEOUT_MS = 900;
const START_TIMEOUT_MS = 30_000;
const POLL_MS = 50;

const docker = (args: readonly string[], options: { timeout?: number } = {}) =>
  promisify(execFile)('docker', args, options);

/** Starts a Redis in a container. Undefined if no Docker engine answers or no image is available. */
async function startRedisContainer(options: OwnRedisOptions): Promise<OwnRedis | undefined> {
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
  // A port that we choose, because Docker would choose another at a restart.
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
