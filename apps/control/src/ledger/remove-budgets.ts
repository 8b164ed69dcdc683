import type pg from 'pg';

/**
 * Removes budgets `b`, within the caller's transaction. The rows stay, so that their versions never fall. The projector then removes
 * their records from the shared state. A caller that also changes keys changes them first, so that two cannot deadlock.
 */
export async function removeBudgets(
  client: pg.PoolClient,
  { where, values }: { readonly where: string; readonly values: readonly unknown[] },
): Promise<void> {
  await client.query(
    `update budgets b set limit_nusd = null, version = version + 1 where b.limit_nusd is not null and ${where}`,
    [...values],
  );
}
