import { type MemberRole, ServiceError, type WorkspaceMemberAnswer, type WorkspaceRole } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import { unknown } from '../serve/unknown.ts';
import { mayDo } from './permissions.ts';
import { revokeWorkspaceKeys } from './revoke-keys.ts';
import { lockWorkspace, requireWorkspace } from './workspace-access.ts';
import type { InWorkspace } from './workspace-store.ts';

interface Row {
  account_id: string;
  email: string | null;
  role: WorkspaceRole;
  joined_at: Date;
}

/** Everybody in a workspace, the owner first, for anybody in it. */
export async function listMembers(
  pool: pg.Pool,
  { accountId, workspaceId }: InWorkspace,
): Promise<WorkspaceMemberAnswer[]> {
  const workspace = await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
  const { rows } = await pool.query<Row>(
    `select i.account_id, u.email, i.role, i.joined_at from (
       select account_id, 'owner' as role, created_at as joined_at from workspaces where id = $1
       union all select account_id, role, created_at from workspace_members where workspace_id = $1) i
     join accounts a on a.id = i.account_id left join auth_user u on u.id = a.user_id
     order by i.role = 'owner' desc, i.joined_at, i.account_id`,
    [workspace.id],
  );
  return rows.map(toAnswer);
}

/** A member of a workspace, and who asks. */
export interface OfMember extends InWorkspace {
  readonly memberId: string;
}

/**
 * Gives a member another role. A viewer has no keys, so those of one who becomes it are revoked; answers their ids.
 * Throws `not_found` for one who is not in it, and `conflict` for the owner, whose role goes with the workspace.
 */
export async function changeRole(
  pool: pg.Pool,
  { accountId, workspaceId, memberId }: OfMember,
  role: MemberRole,
): Promise<{ readonly member: WorkspaceMemberAnswer; readonly keyIds: readonly string[] }> {
  return inTransaction(pool, async (client) => {
    const workspace = await lockWorkspace(client, { accountId, workspaceId, action: 'manageMembers' });
    if (memberId === workspace.accountId) throw ownerStays();
    const { rows } = await client.query<Row>(
      `update workspace_members m set role = $3 from accounts a left join auth_user u on u.id = a.user_id
       where m.workspace_id = $1 and m.account_id = $2 and a.id = m.account_id
       returning m.account_id, u.email, m.role, m.created_at as joined_at`,
      [workspace.id, memberId, role],
    );
    const [row] = rows;
    if (row === undefined) throw unknown('member');
    return { member: toAnswer(row), keyIds: await takeAway(client, { workspaceId: workspace.id, memberId, role }) };
  });
}

/**
 * Removes a member, or lets one leave who asks for themselves. Their keys in the workspace are revoked; answers the
 * keys' ids. Throws `conflict` for the owner.
 */
export async function removeMember(
  pool: pg.Pool,
  { accountId, workspaceId, memberId }: OfMember,
): Promise<readonly string[]> {
  return inTransaction(pool, async (client) => {
    const action = memberId === accountId ? 'read' : 'manageMembers';
    const workspace = await lockWorkspace(client, { accountId, workspaceId, action });
    if (memberId === workspace.accountId) throw ownerStays();
    const { rowCount } = await client.query(
      'delete from workspace_members where workspace_id = $1 and account_id = $2',
      [workspace.id, memberId],
    );
    if (rowCount === 0) throw unknown('member');
    return takeAway(client, { workspaceId: workspace.id, memberId, role: undefined });
  });
}

/** Ends what a member made under a role that they no longer have: their invitations, and their keys. */
async function takeAway(
  client: pg.PoolClient,
  { workspaceId, memberId, role }: { workspaceId: string; memberId: string; role: WorkspaceRole | undefined },
): Promise<readonly string[]> {
  if (role === undefined || !mayDo(role, 'manageMembers')) {
    await client.query('delete from workspace_invitations where workspace_id = $1 and invited_by = $2', [
      workspaceId,
      memberId,
    ]);
  }
  return role !== undefined && mayDo(role, 'useOwnKeys') ? [] : revokeWorkspaceKeys(client, workspaceId, memberId);
}

const ownerStays = (): ServiceError =>
  new ServiceError('conflict', {
    message: 'A workspace has one owner, who stays until another member accepts an invitation as `owner`.',
  });

const toAnswer = ({ account_id, email, role, joined_at: joinedAt }: Row): WorkspaceMemberAnswer => ({
  account_id,
  email,
  role,
  joined_at: joinedAt.toISOString(),
});
