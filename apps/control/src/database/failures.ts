import type pg from 'pg';

/**
 * Returns the database’s failure if the database is unavailable now, else the error itself. better-auth hides causes,
 * because it replaces every error by its own.
 */
export async function orDatabaseFailure(pool: pg.Pool, error: unknown): Promise<unknown> {
  return pool.query('select 1').then(
    () => error,
    (failure: unknown) => (isDatabaseUnavailable(failure) ? failure : error),
  );
}

/**
 * Whether an error means that Postgres is unreachable or does not accept requests, rather than that the query is wrong.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (let next: unknown = error; next instanceof Error; next = next.cause) {
    const code = 'code' in next ? String(next.code) : '';
    // SQLSTATE classes 08 (connection), 40 (deadlock), 53 (resources), 57P (shutdown, startup) and 58 (disk). Codes
    // 57014 (statement timeout), 25006 (a standby that is not promoted yet) and 42P01 (a schema that is not migrated
    // yet). Below are Node’s errors of sockets and names.
    if (/^(08|40|53|57P|58|57014|25006|42P01)/.test(code)) return true;
    if (/^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET)/.test(code)) return true;
    if (
      /Connection terminated|connection error|timeout exceeded when trying to connect|Client was closed/.test(
        next.message,
      )
    )
      return true;
  }
  return false;
}

/** Whether a unique index refused a row, because another transaction had stored an equal one. */
export const isUniqueViolation = (error: unknown): boolean => hasSqlState(error, '23505');

export const hasSqlState = (error: unknown, sqlState: string): boolean =>
  error instanceof Error && 'code' in error && error.code === sqlState;
