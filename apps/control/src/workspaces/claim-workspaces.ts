import type pg from 'pg';
import { removeBudgets } from '../ledger/remove-budgets.ts';
import { revokeWorkspaceKeys } from './revoke-keys.ts';

/**
 * Removes all members and invitations from the workspaces of a claimed account, and the account from all other
 * workspaces. Revokes the keys of both. Returns their ids.
 */
export async function claimWorkspaces(client: pg.PoolClient, userId: string): Promise<readonly string[]> {
  const { rows: owned } = await client.query<{ id: string }>(
    `select w.id from workspaces w join accounts a on a.id = w.account_id
     where a.user_id = $1 and w.deleted_at is null order by w.id for update of w`,
    [userId],
  );
  const keyIds: string[] = [];
  for (const { id } of owned) {
    keyIds.push(...(await revokeWorkspaceKeys(client, id)));
    await removeBudgets(client, { where: 'b.workspace_id = $1 and b.is_default', values: [id] });
    await client.query('delete from workspace_members where workspace_id = $1', [id]);
    await client.query('delete from workspace_invitations where workspace_id = $1', [id]);
  }
  // Also end its memberships in other workspaces, with the keys and invitations created there.
  const { rows: joined } = await client.query<{ workspace_id: string; account_id: string }>(
    `select m.workspace_id, m.account_id from workspace_members m join accounts a on a.id = m.account_id
     where a.user_id = $1 order by m.workspace_id`,
    [userId],
  );
  for (const { workspace_id: workspaceId, account_id: accountId } of joined) {
    await client.query('select 1 from workspaces where id = $1 for update', [workspaceId]);
    keyIds.push(...(await revokeWorkspaceKeys(client, workspaceId, accountId)));
    const place = [workspaceId, accountId];
    await removeBudgets(client, { where: 'b.workspace_id = $1 and b.member_id = $2 and b.is_default', values: place });
    await client.query('delete from workspace_invitations where workspace_id = $1 and invited_by = $2', place);
    await client.query('delete from workspace_members where workspace_id = $1 and account_id = $2', place);
  }
  return keyIds;
}
