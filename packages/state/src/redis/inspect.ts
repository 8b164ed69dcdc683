import { Cluster } from 'ioredis';
import { connectRedis } from './connection.ts';
import { DurabilityCheck } from './durability.ts';
import { exposedUsers } from './users.ts';

/** What a Redis says of itself. */
export interface RedisInspection {
  /** Such as 7.2.5; of Valkey the version of Redis that it stands for. Undefined where it does not say. */
  readonly version: string | undefined;
  /** Its clock in Unix ms, and how long it took to ask for it, in ms. */
  readonly timeMs: number;
  readonly tookMs: number;
  /** Why it may lose what it has answered; undefined: it keeps it, or does not let itself be asked. */
  readonly problem: string | undefined;
  /** The users of brokers that can read what is control's; undefined: no broker is connected, or it cannot be asked. */
  readonly exposedTo: readonly string[] | undefined;
}

/** Looks at a Redis without changing anything. Rejects where it cannot be reached; a `TypeError` is a malformed URL. */
export async function inspectRedis(url: string, timeoutMs: number): Promise<RedisInspection> {
  const connection = connectRedis(url, { commandTimeoutMs: timeoutMs });
  try {
    await ready(connection, timeoutMs);
    const node = connection instanceof Cluster ? connection.nodes('master')[0] : connection;
    if (node === undefined) throw new Error('the cluster has no master');
    const askedAt = performance.now();
    const [seconds, microseconds] = await node.time();
    const tookMs = performance.now() - askedAt;
    const info = await node.info('server').catch(() => '');
    const problem = await new DurabilityCheck(connection, () => performance.now()).problem();
    const exposedTo = await exposedUsers(connection);
    return {
      version: /^redis_version:(\S+)/m.exec(info)?.[1],
      timeMs: Number(seconds) * 1000 + Number(microseconds) / 1000,
      tookMs,
      problem,
      exposedTo,
    };
  } finally {
    connection.disconnect();
  }
}

function ready(connection: ReturnType<typeof connectRedis>, timeoutMs: number): Promise<void> {
  if (connection.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('it did not answer in time')), timeoutMs);
    connection.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
