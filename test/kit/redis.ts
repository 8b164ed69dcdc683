import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { startRedisCluster } from './redis-cluster.ts';
import { flushRedis } from './redis-connection.ts';
import { startRedisContainer } from './redis-container.ts';
import { startRedisProcess } from './redis-process.ts';

/** A Redis, or a cluster of three masters of which `kill9` and the like take all. */
export interface TestRedis {
  /** `redis://` URL; of a cluster, that of its first node with `?cluster=1`. */
  readonly url: string;
  /** `redis://` URLs of the nodes: one, unless it is a cluster. */
  readonly nodes: readonly string[];
  /** Of the present process (of a cluster, its first node); undefined where it is not our child. Changes at `restart()`. */
  readonly pid: number | undefined;
  /** Kills it as the kernel would, and resolves when it is gone. Rejects for a server that is not ours, as those below. */
  kill9(): Promise<void>;
  /** Stops it if need be and starts it on the same port and folder: with `appendOnly` it has its data again. */
  restart(): Promise<void>;
  /** Deletes everything in it. */
  flush(): Promise<void>;
  /** Has it hang (SIGSTOP): connections stay, nothing is answered until `resume()`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** What a test may ask of its Redis. */
export interface TestRedisOptions {
  /** Every write is on disk before it is answered. */
  readonly appendOnly?: boolean;
  /** Three masters, without replicas. Never a container. */
  readonly cluster?: boolean;
  /** Where a process of ours keeps its data; default: the machine's temporary folder. */
  readonly within?: string;
  /** More variables of a process of ours. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** How to have the tests run that `startTestRedis` has nothing for. */
export const redisSkipReason =
  'put redis-server (7 or later) or valkey-server on the PATH, start Docker, or set TEST_REDIS_URL to a Redis that may be emptied.';

/**
 * A Redis for tests: the one of TEST_REDIS_URL where it is of the wanted kind, else a private one from the PATH, else a
 * container. Resolves to undefined where there is none, for the test to skip; rejects then under SOTTO_REQUIRE_REDIS=1.
 */
export async function startTestRedis(options: TestRedisOptions = {}): Promise<TestRedis | undefined> {
  const { appendOnly = false, cluster = false } = options;
  const given = process.env.TEST_REDIS_URL;
  if (given && isClusterUrl(given) === cluster) return useGiven(given);

  const program = onPath('redis-server') ?? onPath('valkey-server');
  if (program !== undefined) {
    return cluster
      ? startRedisCluster(program, { appendOnly })
      : startRedisProcess(program, { ...options, appendOnly });
  }

  const container = cluster ? undefined : await startRedisContainer({ appendOnly });
  if (container === undefined && process.env.SOTTO_REQUIRE_REDIS === '1') {
    throw new Error(`no Redis, but SOTTO_REQUIRE_REDIS=1: ${redisSkipReason}`);
  }
  return container;
}

function isClusterUrl(url: string): boolean {
  return url.includes(',') || new URL(url).searchParams.has('cluster');
}

function useGiven(url: string): TestRedis {
  const refuse = async (): Promise<never> => {
    throw new Error('the server of TEST_REDIS_URL is not ours to kill, restart or pause: unset it for this test');
  };
  return {
    url,
    nodes: [url],
    pid: undefined,
    kill9: refuse,
    restart: refuse,
    flush: () => flushRedis(url, { cluster: isClusterUrl(url) }),
    pause: refuse,
    resume: refuse,
    stop: async () => {},
  };
}

function onPath(program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}
