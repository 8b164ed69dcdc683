import type pg from 'pg';

/**
 * Runs work in one Postgres transaction. It commits when the work resolves and rolls back when it throws. `mode`
 * follows `begin`, such as an isolation level.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  mode?: 'isolation level repeatable read read only',
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(mode === undefined ? 'begin' : `begin ${mode}`);
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}
