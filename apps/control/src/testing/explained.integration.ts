import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';

/** Returns the plans of a read’s queries, as the planner would make them for tables too large to scan or sort. Every query answers nothing. */
export async function explained(pool: pg.Pool, read: (pool: pg.Pool) => Promise<unknown>): Promise<string> {
  const lines: string[] = [];
  await inTransaction(pool, async (client) => {
    await client.query(
      'set local enable_seqscan = off; set local enable_sort = off; set local enable_bitmapscan = off',
    );
    const explaining = {
      query: async (sql: string, values: unknown[]) => {
        const { rows } = await client.query<Record<string, string>>(`explain (costs off) ${sql}`, values);
        lines.push(...rows.map((row) => row['QUERY PLAN'] ?? ''));
        return { rows: [] };
      },
    };
    await read(explaining as unknown as pg.Pool);
  });
  return lines.join('\n');
}
