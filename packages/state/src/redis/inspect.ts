import { Cluster, type Redis } from 'ioredis';
import type { MemoryUse } from '../ports/index.ts';
import { connectRedis, type RedisConnection } from './connection.ts';
import { DurabilityCheck } from './durability.ts';
import { readMemoryUse } from './memory-use.ts';
import { causeOfTrouble, isRejected } from './trouble.ts';

/** Facts about a Redis server. */
export interface RedisInspection {
  /** Such as 7.2.5. For Valkey: the version of Redis that it is compatible with. Undefined if unknown. */
  readonly version: string | undefined;
  /** Its clock in Unix ms, and the duration of the query in ms. */
  readonly timeMs: number;
  readonly tookMs: number;
  /** Why it is not durable. Undefined: it is durable or hides its settings. */
  readonly problem: string | undefined;
  /** Undefined: Redis hides it. */
  readonly memory: MemoryUse | undefined;
  /** The brokers' users that can read control's keys. Undefined: no broker is connected, or Redis hides its clients. */
  readonly exposedTo: readonly string[] | undefined;
}

/** Inspects a Redis server without changing anything. Rejects if it is unreachable, with the cause as `code`, or with a `TypeError` for a malformed URL. */
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
    const exposedTo = await exposedUsers(node);
    const memory = await readMemoryUse(connection);
    return {
      version: /^redis_version:(\S+)/m.exec(info)?.[1],
      timeMs: Number(seconds) * 1000 + Number(microseconds) / 1000,
      tookMs,
      problem,
      memory,
      exposedTo,
    };
  } finally {
    connection.disconnect();
  }
}

function ready(connection: RedisConnection, timeoutMs: number): Promise<void> {
  if (connection.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    let cause = 'no answer';
    const fail = (): void => reject(Object.assign(new Error('Redis cannot be reached'), { code: cause }));
    const timer = setTimeout(fail, timeoutMs);
    connection.on('error', (error: unknown) => {
      cause = causeOfTrouble(error);
      if (!isRejected(cause)) return;
      clearTimeout(timer);
      fail();
    });
    connection.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Name of the brokers' connections in CLIENT LIST, for operators. */
export const brokerConnectionName = 'sotto-broker';

/** A key of control. Brokers' users need only keys that begin with `sotto:`. */
const controlKey = 'control:limit:none';

/** Whether Redis refused a command, or a command of a script, because the user lacks the right to it. */
export const isDenial = ({ message }: Error): boolean =>
  message.startsWith('NOPERM') || message.includes('user executing the script can');

/** Whether the user of this connection can read control's keys. Rejects if Redis does not answer. */
export async function readsControlKeys(connection: Pick<RedisConnection, 'get'>): Promise<boolean> {
  try {
    await connection.get(controlKey);
    return true;
  } catch (error) {
    if (error instanceof Error && isDenial(error)) return false;
    throw error;
  }
}

/**
 * Returns the users of connected brokers that can read control's keys. Undefined if no broker is connected or Redis refuses the
 * query.
 */
async function exposedUsers(node: Redis): Promise<readonly string[] | undefined> {
  try {
    const users = await usersOfBrokers(node);
    if (users.length === 0) return undefined;
    const answers = await Promise.all(users.map((user) => node.call('ACL', 'DRYRUN', user, 'GET', controlKey)));
    return users.filter((_, at) => answers[at] === 'OK');
  } catch {
    return undefined;
  }
}

async function usersOfBrokers(node: Redis): Promise<string[]> {
  const lines = String(await node.call('CLIENT', 'LIST')).split('\n');
  const own = lines.filter((line) => line.includes(` name=${brokerConnectionName} `));
  return [...new Set(own.flatMap((line) => / user=(\S+)/.exec(line)?.[1] ?? []))];
}
