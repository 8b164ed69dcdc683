import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { endHalfOpenConnections } from './half-open-connections.ts';

export interface DatabaseConnection {
  readonly pool: pg.Pool;
  readonly db: NodePgDatabase;
  close(): Promise<void>;
}

/** Opens a pool. It connects on first use, and reconnects after a restart of the server. */
export function openDatabase(url: string): DatabaseConnection {
  const pool = new pg.Pool({
    connectionString: url,
    max: 20,
    connectionTimeoutMillis: 3000,
    statement_timeout: 15_000,
    // The server ends the transactions of a process that has vanished, and with them its locks.
    idle_in_transaction_session_timeout: 15_000,
    // Statements of one connection travel without waiting for the answers before them.
    pipeline: true,
  });
  // The next query replaces a broken connection. Without listeners, its error would end the process. The pool’s own
  // listener hears only of idle connections, not of one inside a transaction.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  endHalfOpenConnections(pool, url);
  return { pool, db: drizzle(pool), close: () => pool.end() };
}
