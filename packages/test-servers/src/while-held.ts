import type pg from 'pg';
import { until } from './until.ts';

export interface Held {
  /** A statement that locks the rows, such as `select 1 from orders for update`. */
  readonly rows: string;
  readonly values?: readonly unknown[];
  /** The beginning of the statement with which each call waits for these rows. */
  readonly waiting: string;
  /** The number of calls that must wait before the rows are released. Default: all. */
  readonly count?: number;
  /** Runs while the calls wait, with the connection that holds the rows. */
  readonly meanwhile?: (holder: pg.PoolClient) => Promise<unknown>;
}

/**
 * Locks rows until the calls wait for them, then releases them. By then each call has read the rows and none has
 * changed them. This interleaving shows a lost update. Resolves to the answers. Throws at once if the calls fail or end without
 * waiting.
 */
export async function whileHeld<T>(pool: pg.Pool, held: Held, calls: readonly (() => Promise<T>)[]): Promise<T[]> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(held.rows, [...(held.values ?? [])]);
    const answers = Promise.all(calls.map((call) => call()));
    const tooEarly = answers.then(() => {
      throw new Error(`the calls ended without waiting with \`${held.waiting}\``);
    });
    const waiting = until(async () => {
      const { rows } = await pool.query<{ count: string }>(
        `select count(*) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and starts_with(query, $1)`,
        [held.waiting],
      );
      // A statement of a background task may wait, too.
      return Number(rows[0]?.count) >= (held.count ?? calls.length);
    }, `calls wait with \`${held.waiting}\``);
    await Promise.race([waiting, tooEarly]);
    await held.meanwhile?.(client);
    await client.query('commit');
    return await answers;
  } finally {
    await client.query('rollback').catch(() => {});
    client.release();
  }
}
