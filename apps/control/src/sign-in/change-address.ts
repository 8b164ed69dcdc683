import type pg from 'pg';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import { isUniqueViolation } from '../database/failures.ts';
import { inTransaction } from '../database/in-transaction.ts';

/**
 * Changes the address of a user to one that a mailed link has proven, in one transaction with its act. Returns false if another user has
 * the address, or if the user was deleted meanwhile.
 */
export async function changeAddress(pool: pg.Pool, userId: string, email: string): Promise<boolean> {
  try {
    return await inTransaction(pool, async (client) => {
      const { rowCount } = await client.query(
        'update auth_user set email = $2, email_verified = true, updated_at = now() where id = $1',
        [userId, email],
      );
      if (rowCount !== 1) return false;
      const { rows } = await client.query<{ id: string }>('select id from accounts where user_id = $1', [userId]);
      for (const { id } of rows)
        await recordAct(client, { actor: byAccount(id), act: 'address_changed', accountId: id });
      return true;
    });
  } catch (error) {
    if (isUniqueViolation(error)) return false;
    throw error;
  }
}
