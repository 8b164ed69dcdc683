import { Cluster, Redis, type RedisOptions } from 'ioredis';

export interface RedisConnectionOptions {
  /** Timeout of one command in ms. */
  readonly commandTimeoutMs: number;
  /** Name of the connection in Redis' client list. */
  readonly name?: string | undefined;
}

export type RedisConnection = Redis | Cluster;

/**
 * Opens a connection that never repeats a command by itself. The caller resolves a lost reply, by `cancel` or by sending the same
 * hold id again. Commands fail at once while the connection is down.
 * A URL with several hosts (`redis://a:6379,b:6379`) or with `?cluster=1` is a Redis Cluster.
 */
export function connectRedis(url: string, { commandTimeoutMs, name }: RedisConnectionOptions): RedisConnection {
  const options = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Only for calls without a limit of their own (`script-runner.ts`), which would blame Redis for a blocked process.
    commandTimeout: 2 * commandTimeoutMs,
    // Closes a silent connection, because TCP alone would keep a dead peer for many minutes.
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
  // Failed commands and readiness report connection errors. Without a listener, an error would end the process.
  connection.on('error', () => {});
  return connection;
}

const leaveEveryMs = 1000;

/**
 * For ioredis' `reconnectOnError`: reconnects if the server has become a replica. After a failover, the address leads to the new
 * master, but open connections stay at the old one, which refuses every write.
 */
export function leaveReplica(now: () => number = () => performance.now()): (error: Error) => boolean {
  let leftAt = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    // Without a new master, a reconnect at every write would interrupt reads.
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

/** Parses a Redis URL. Throws a `TypeError` that quotes no part of it, because it has a password. */
export function readRedisUrl(url: string): RedisAddress {
  const [head = '', ...rest] = url.split(',');
  const first = readUrl(head);
  if (first.protocol !== 'redis:' && first.protocol !== 'rediss:') {
    throw new TypeError('must start with redis:// or rediss://');
  }
  const databaseName = first.pathname.slice(1);
  if (!/^\d*$/.test(databaseName)) throw new TypeError('must name a database by its number, as in redis://host:6379/0');
  const db = Number(databaseName);
  const others = rest.map((text) => readUrl(text.includes('://') ? text : `${first.protocol}//${text}`));
  if (!others.every((node) => agrees(node, first))) {
    throw new TypeError(
      'must not have another protocol, user, password or database at a later host: those of the first are for all hosts, as in rediss://user:password@a:6379,b:6379',
    );
  }
  const cluster = [first, ...others].flatMap(({ searchParams }) => searchParams.getAll('cluster'));
  if (cluster.some((value) => value !== '1')) {
    throw new TypeError('must not have `cluster` with another value than 1: leave it out for a single server');
  }
  return {
    nodes: [first, ...others].map(nodeOf),
    cluster: others.length > 0 || cluster.length > 0,
    auth: {
      ...(first.username === '' ? {} : { username: decode(first.username) }),
      ...(first.password === '' ? {} : { password: decode(first.password) }),
      ...(db === 0 ? {} : { db }),
      ...(first.protocol === 'rediss:' ? { tls: {} } : {}),
    },
  };
}

/** Whether a later host says nothing that the first does not say. */
const agrees = (node: URL, first: URL): boolean =>
  node.protocol === first.protocol &&
  ['', first.username].includes(node.username) &&
  ['', first.password].includes(node.password) &&
  (node.pathname.length <= 1 || databaseOf(node) === databaseOf(first));

const databaseOf = ({ pathname }: URL): number => Number(pathname.slice(1));

const nodeOf = ({ hostname, port }: URL): { host: string; port: number } => ({
  host: hostname.replace(/^\[|\]$/g, ''),
  port: port === '' ? 6379 : Number(port),
});

/** Parses a URL without the platform's error, which quotes the whole text. */
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
