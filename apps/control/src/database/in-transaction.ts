import type pg from 'pg';
import { hasSqlState } from './failures.ts';
import { Refused } from './refused.ts';

/**
 * Runs work in one Postgres transaction. It commits when the work resolves, and rolls back when it throws or resolves to a
 * `Refused`. `mode` follows `begin`, such as an isolation level.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  mode?: 'isolation level repeatable read read only',
): Promise<T> {
  const client = await pool.connect();
  let isUnusable = false;
  try {
    await client.query(mode === undefined ? 'begin' : `begin ${mode}`);
    const result = await work(client);
    if (result instanceof Refused) {
      await client.query('rollback').catch(() => {
        isUnusable = true;
      });
      return result;
    }
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new Error('the transaction was aborted');
    return result;
  } catch (error) {
    isUnusable = staleStatement.some((state) => hasSqlState(error, state));
    await client.query('rollback').catch(() => {
      isUnusable = true;
    });
    throw error;
  } finally {
    client.release(isUnusable);
  }
}

const abortedTransaction = '25P02';
/** A prepared statement of another schema, or one that a pooler has forgotten. Another connection prepares it anew. */
const staleStatement = ['0A000', '26000'];

/**
 * Resolves to the results of statements that were sent to one transaction without waiting for each other, by a pool with `pipeline`.
 * If one fails, those after it fail as well, because the transaction is aborted. Throws the error of the first.
 */
export async function sentTogether<const T extends readonly unknown[]>(
  sent: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const results = await Promise.allSettled(sent);
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (errors.length > 0) throw errors.find((error) => !hasSqlState(error, abortedTransaction)) ?? errors[0];
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as {
    -readonly [K in keyof T]: Awaited<T[K]>;
  };
}
