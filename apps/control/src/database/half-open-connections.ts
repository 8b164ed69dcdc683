import { Socket } from 'node:net';
import pg from 'pg';

/** Time for which a connection may owe a response before the server is asked whether it still works for it. */
const silentMs = 2_000;
const askMs = 2_000;

/**
 * Ends connections that are half open: their server disappeared without closing them (a failover, a firewall that dropped
 * its state, a network partition). TCP alone would wait for many minutes, and each connection would block its caller and a
 * place in the pool. A long statement is left alone: over a new connection, the server is asked for which ones it works.
 */
export function endHalfOpenConnections(pool: pg.Pool, url: string): void {
  let asking: Promise<ReadonlySet<unknown> | 'unknown'> | undefined;
  const working = () => {
    asking ??= readWorking(url).finally(() => {
      asking = undefined;
    });
    return asking;
  };
  pool.on('connect', (client) => {
    const socket = socketOf(client);
    if (socket === undefined) return;
    const processId: unknown = Reflect.get(client, 'processID');
    let writtenWhenHeard = socket.bytesWritten;
    const isOwed = (): boolean => !socket.destroyed && socket.bytesWritten > writtenWhenHeard;
    // When the last statement that was sent is answered.
    client.on('drain', () => {
      writtenWhenHeard = socket.bytesWritten;
    });
    socket.setTimeout(silentMs);
    socket.on('timeout', () => {
      if (!isOwed()) return;
      const asked = socket.bytesWritten;
      void working().then((processIds) => {
        if (!isOwed() || socket.bytesWritten !== asked) return;
        if (processIds === 'unknown' || processIds.has(processId)) socket.setTimeout(silentMs);
        else socket.destroy(new Error('Connection terminated: the server no longer works for it'));
      });
    });
  });
}

/** Returns the socket of a connection, encrypted or not. */
function socketOf(client: pg.PoolClient): Socket | undefined {
  const connection: unknown = Reflect.get(client, 'connection');
  const stream: unknown = connection instanceof pg.Connection ? connection.stream : undefined;
  return stream instanceof Socket ? stream : undefined;
}

/** Returns the process ids of the connections that the server works for: none if it cannot be reached, `unknown` if it does not say. */
async function readWorking(url: string): Promise<ReadonlySet<unknown> | 'unknown'> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: askMs, query_timeout: askMs });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(
      "select pid from pg_stat_activity where state in ('active', 'fastpath function call', 'disabled')",
    );
    return new Set(rows.map(({ pid }) => pid));
  } catch (error) {
    return error instanceof pg.DatabaseError ? 'unknown' : new Set();
  } finally {
    void client.end().catch(() => {});
  }
}
