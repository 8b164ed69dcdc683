import type pg from 'pg';

/** The account was deleted, though its session was still valid when the request came. */
export type NoAccount = { readonly why: 'no_account' };

/**
 * Keeps an account from being deleted until the caller's transaction ends. Returns false if it is deleted. Call it before you store
 * something that a deletion removes. The foreign key alone does not wait for a deletion, which would not see the new row.
 */
export async function keepAccount(client: pg.PoolClient, accountId: string): Promise<boolean> {
  const kept = await client.query('select from accounts where id = $1 and deleted_at is null for share', [accountId]);
  return kept.rowCount === 1;
}
