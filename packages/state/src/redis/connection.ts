import { Cluster, Redis, type RedisOptions } from 'ioredis';

export interface RedisConnectionOptions {
  /** How long one command may take, in ms, before it counts as failed. */
  readonly commandTimeoutMs: number;
  /** What Redis calls the connection in its lists. */
  readonly name?: string | undefined;
}

export type RedisConnection = Redis | Cluster;

/**
 * Opens a connection that never sends a command twice on its own: a lost reply is the caller's to resolve, by `cancel`
 * or by sending the same hold id again. Commands fail at once while the connection is down.
 * A URL with several hosts (`redis://a:6379,b:6379`) or with `?cluster=1` is a Redis Cluster.
 */
export function connectRedis(url: string, { commandTimeoutMs, name }: RedisConnectionOptions): RedisConnection {
  const options = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    // A connection on which nothing comes back is given up: TCP alone would hold on to a dead peer for many minutes.
    socketTimeout: 2 * commandTimeoutMs,
    connectTimeout: 2000,
    maxLoadingRetryTime: 200,
    retryStrategy: reconnectDelayMs,
    reconnectOnError: leaveReplica(),
    disableClientInfo: true,
    ...(name === undefined ? {} : { connectionName: name }),
  } satisfies RedisOptions;
  const { nodes, cluster, auth } = readRedisUrl(url);
  const [first] = nodes;
  const connection = cluster
    ? new Cluster([...nodes], {
        enableOfflineQueue: false,
        retryDelayOnFailover: 0,
        retryDelayOnClusterDown: 0,
        clusterRetryStrategy: reconnectDelayMs,
        redisOptions: { ...options, ...auth },
      })
    : new Redis({ ...options, ...auth, ...first });
  // A connection error is seen by the commands that fail and by readiness; without a listener it would end the process.
  connection.on('error', () => {});
  return connection;
}

const leaveEveryMs = 1000;

/**
 * For ioredis' `reconnectOnError`: leaves a server that has become a replica. After a failover the name or address leads
 * to the new master, while the connections that are open stay with the old one, which refuses every write for ever.
 */
export function leaveReplica(now: () => number = () => performance.now()): (error: Error) => boolean {
  let leftAt = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    // Where there is no other to go to, reads must not be cut off at every write.
    if (!message.startsWith('READONLY') || now() - leftAt < leaveEveryMs) return false;
    leftAt = now();
    return true;
  };
}

const reconnectDelayMs = (attempt: number): number => Math.min(25 * 2 ** Math.min(attempt, 5), 500);

interface RedisAddress {
  readonly nodes: readonly { host: string; port: number }[];
  readonly cluster: boolean;
  readonly auth: { username?: string; password?: string; db?: number; tls?: object };
}

/** Reads a Redis URL; throws a `TypeError` that quotes no part of it: it holds a password. */
export function readRedisUrl(url: string): RedisAddress {
  const [head = '', ...others] = url.split(',');
  const first = readUrl(head);
  if (first.protocol !== 'redis:' && first.protocol !== 'rediss:') {
    throw new TypeError('must start with redis:// or rediss://');
  }
  const databaseName = first.pathname.slice(1);
  if (!/^\d*$/.test(databaseName)) throw new TypeError('must name a database by its number, as in redis://host:6379/0');
  const db = Number(databaseName);
  return {
    nodes: [first, ...others.map((text) => readUrl(text.includes('://') ? text : `redis://${text}`))].map(nodeOf),
    cluster: others.length > 0 || first.searchParams.has('cluster'),
    auth: {
      ...(first.username === '' ? {} : { username: decode(first.username) }),
      ...(first.password === '' ? {} : { password: decode(first.password) }),
      ...(db === 0 ? {} : { db }),
      ...(first.protocol === 'rediss:' ? { tls: {} } : {}),
    },
  };
}

const nodeOf = ({ hostname, port }: URL): { host: string; port: number } => ({
  host: hostname.replace(/^\[|\]$/g, ''),
  port: port === '' ? 6379 : Number(port),
});

/** The platform's own error carries the whole text. */
function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || url.hostname === '') throw new TypeError('must be a URL such as redis://host:6379');
  return url;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError('must have a user name and a password that are percent-encoded');
  }
}
