import type pg from 'pg';
import { byAccount, recordActs } from '../audit-log/record-act.ts';
import { Refused } from '../database/refused.ts';
import { removeBudgets } from '../ledger/remove-budgets.ts';
import { endMembership } from './member-store.ts';
import { revokeWorkspaceKeys } from './revoke-keys.ts';

/**
 * Removes all members, invitations and webhooks from the workspaces of a claimed account, and the account from all other
 * workspaces. Revokes the keys of both. Returns their ids.
 */
export async function claimWorkspaces(client: pg.PoolClient, userId: string): Promise<readonly string[]> {
  const { rows: owned } = await client.query<{ id: string; account_id: string }>(
    `select w.id, w.account_id from workspaces w join accounts a on a.id = w.account_id
     where a.user_id = $1 and w.deleted_at is null order by w.id for update of w`,
    [userId],
  );
  const keyIds: string[] = [];
  for (const { id: workspaceId, account_id: ownerId } of owned) {
    const revoked = await revokeWorkspaceKeys(client, workspaceId);
    keyIds.push(...revoked);
    await removeBudgets(client, { where: 'b.workspace_id = $1 and b.is_default', values: [workspaceId] });
    const members = await client.query<{ account_id: string }>(
      'delete from workspace_members where workspace_id = $1 returning account_id',
      [workspaceId],
    );
    await client.query('delete from workspace_invitations where workspace_id = $1', [workspaceId]);
    const webhooks = await client.query('delete from workspace_webhooks where workspace_id = $1', [workspaceId]);
    const shared = { actor: byAccount(ownerId), workspaceId };
    await recordActs(client, [
      ...members.rows.map(({ account_id: accountId }) => ({ ...shared, act: 'member_removed', accountId }) as const),
      ...(webhooks.rowCount === 0 ? [] : [{ ...shared, act: 'webhook_removed' } as const]),
      ...revoked.map((key_id) => ({ ...shared, act: 'key_revoked', details: { key_id } }) as const),
    ]);
  }
  // Also end its memberships in other workspaces, with the keys and invitations created there.
  const { rows: joined } = await client.query<{ workspace_id: string; account_id: string }>(
    `select m.workspace_id, m.account_id from workspace_members m join accounts a on a.id = m.account_id
     where a.user_id = $1 order by m.workspace_id`,
    [userId],
  );
  for (const { workspace_id: workspaceId, account_id: memberId } of joined) {
    await client.query('select 1 from workspaces where id = $1 for update', [workspaceId]);
    const revoked = await endMembership(client, { workspaceId, memberId }, byAccount(memberId));
    if (!(revoked instanceof Refused)) keyIds.push(...revoked);
  }
  return keyIds;
}
