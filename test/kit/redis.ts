import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { startRedisCluster } from './redis-cluster.ts';
import { withRedis } from './redis-connection.ts';
import { startRedisContainer } from './redis-container.ts';
import { startRedisProcess } from './redis-process.ts';

/** A Redis database for tests, empty at first. */
export interface TestRedis {
  /** `redis://` URL; of a cluster, that of its first node with `?cluster=1`. */
  readonly url: string;
  /** Deletes everything in it. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** A Redis of one test file, or a cluster of three masters of which `kill9` and the like take all. */
export interface OwnRedis extends TestRedis {
  /** `redis://` URLs of the nodes: one, unless it is a cluster. */
  readonly nodes: readonly string[];
  /** Of the present process (of a cluster, its first node); undefined where it is not our child. Changes at `restart()`. */
  readonly pid: number | undefined;
  /** Kills it as the kernel would, and resolves when it is gone. */
  kill9(): Promise<void>;
  /** Stops it if need be and starts it on the same port and folder: with `appendOnly` it has its data again. */
  restart(): Promise<void>;
  /** Has it hang (SIGSTOP): connections stay, nothing is answered until `resume()`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** What a test may ask of a Redis of its own. */
export interface OwnRedisOptions {
  /** Every write is on disk before it is answered. */
  readonly appendOnly?: boolean;
  /** Three masters, without replicas. Never a container. */
  readonly cluster?: boolean;
  /** A file of users. Never a container. */
  readonly aclFile?: string;
  /** How many databases it has; default: 16. */
  readonly databases?: number;
  /** Where a process of ours keeps its data; default: the machine's temporary folder. */
  readonly within?: string;
  /** More variables of a process of ours. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** How to have the tests run that have no Redis. */
export const redisSkipReason = 'put redis-server (7 or later) or valkey-server on the PATH, or start Docker.';

/**
 * A database of the Redis that a run of tests shares (`shared-servers.ts`), or a server where nothing is shared, as in a
 * bench. Resolves to undefined where there is none, for the test to skip; rejects then under SOTTO_REQUIRE_REDIS=1.
 */
export async function startTestRedis(): Promise<TestRedis | undefined> {
  const shared = process.env[sharedRedisVariable];
  if (shared === undefined) return startOwnRedis();
  const url = new URL(shared);
  url.pathname = `/${await withRedis(shared, (redis) => redis.incr('databases-given-away'))}`;
  const flush = () => withRedis(url.href, async (redis) => void (await redis.flushdb()));
  return { url: url.href, flush, stop: flush };
}

/** Names the variable with the URL of the Redis that a run of tests shares. Its database 0 counts those given away. */
export const sharedRedisVariable = 'SOTTO_TEST_SHARED_REDIS';

/** Whether this run of tests has a Redis. */
export const hasSharedRedis = process.env[sharedRedisVariable] !== undefined;

/**
 * A private Redis from the PATH, else a container: for tests that break it, watch it or set it up. Resolves to undefined
 * where there is none, and rejects then under SOTTO_REQUIRE_REDIS=1.
 */
export async function startOwnRedis(options: OwnRedisOptions = {}): Promise<OwnRedis | undefined> {
  const { cluster = false, aclFile } = options;
  const program = onPath('redis-server') ?? onPath('valkey-server');
  if (program !== undefined) {
    return cluster ? startRedisCluster(program, options) : startRedisProcess(program, options);
  }
  const container = cluster || aclFile !== undefined ? undefined : await startRedisContainer(options);
  if (container === undefined && process.env.SOTTO_REQUIRE_REDIS === '1') {
    throw new Error(`no Redis, but SOTTO_REQUIRE_REDIS=1: ${redisSkipReason}`);
  }
  return container;
}

function onPath(program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}
