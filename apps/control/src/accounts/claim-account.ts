import type pg from 'pg';
import { disableApps } from '../connect/apps/app-store.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { revokeWorkspaceKeys } from '../workspaces/revoke-keys.ts';

/**
 * Gives an account to the owner of its address, after somebody else, who never verified that, may have used it: whoever
 * that was keeps no key, no app, no place in its workspaces and no invitation to them. Money, usage and settings stay.
 * Answers the ids of the revoked keys, for the projector.
 */
export async function claimAccount(pool: pg.Pool, userId: string): Promise<readonly string[]> {
  return inTransaction(pool, async (client) => {
    const { rows: owned } = await client.query<{ id: string }>(
      `select w.id from workspaces w join accounts a on a.id = w.account_id
       where a.user_id = $1 and w.deleted_at is null order by w.id for update of w`,
      [userId],
    );
    const keyIds: string[] = [];
    for (const { id } of owned) {
      keyIds.push(...(await revokeWorkspaceKeys(client, id)));
      await client.query('delete from workspace_members where workspace_id = $1', [id]);
      await client.query('delete from workspace_invitations where workspace_id = $1', [id]);
    }
    // Keys and invitations made as a member of others' workspaces, and the places there.
    const { rows: joined } = await client.query<{ workspace_id: string; account_id: string }>(
      `select m.workspace_id, m.account_id from workspace_members m join accounts a on a.id = m.account_id
       where a.user_id = $1 order by m.workspace_id`,
      [userId],
    );
    for (const { workspace_id: workspaceId, account_id: accountId } of joined) {
      await client.query('select 1 from workspaces where id = $1 for update', [workspaceId]);
      keyIds.push(...(await revokeWorkspaceKeys(client, workspaceId, accountId)));
      const place = [workspaceId, accountId];
      await client.query('delete from workspace_invitations where workspace_id = $1 and invited_by = $2', place);
      await client.query('delete from workspace_members where workspace_id = $1 and account_id = $2', place);
    }
    keyIds.push(...(await disableApps(client, userId)));
    return keyIds;
  });
}
