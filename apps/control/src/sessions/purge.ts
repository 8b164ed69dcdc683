import type pg from 'pg';

/** Forgets sessions that have ended by time, and links, codes and challenges that nobody can use any more. */
export async function purgeExpired(pool: pg.Pool, now: number): Promise<void> {
  for (const table of ['auth_session', 'auth_verification']) {
    await pool.query(`delete from ${table} where expires_at < $1`, [new Date(now)]);
  }
}
