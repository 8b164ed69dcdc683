import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import type { MemberRole, WorkspaceMemberAnswer } from '@sotto/contract/control/workspaces';
import type pg from 'pg';
import { type Actor, byAccount, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { Refused, refused } from '../database/refused.ts';
import type { workspaceMembers } from '../database/workspace-schema.ts';
import { removeBudgets } from '../ledger/remove-budgets.ts';
import { oldestFirst, type PageQuery } from '../serve/page-cursor.ts';
import { mayDo } from './permissions.ts';
import { revokeWorkspaceKeys } from './revoke-keys.ts';
import { accessWorkspace, inWorkspace, type NoAccess } from './workspace-access.ts';
import type { InWorkspace } from './workspace-store.ts';

type Row = SqlRow<typeof workspaceMembers, 'account_id'> & {
  email: string | null;
  role: WorkspaceRole;
  by_group: boolean;
  joined_at: Date;
  is_disabled: boolean;
};

/** Returns everyone in a workspace, the owner first. Every role may read it. */
export async function listMembers(
  pool: pg.Pool,
  { accountId, workspaceId }: InWorkspace,
  page: PageQuery,
): Promise<{ data: WorkspaceMemberAnswer[]; next_cursor: string | null } | Refused<NoAccess>> {
  const workspace = await accessWorkspace(pool, { accountId, workspaceId, action: 'read' });
  if (workspace instanceof Refused) return workspace;
  const list = {
    // The owner is the first: no member joined before the workspace was there.
    select: `select i.account_id, u.email, i.role, i.by_group, i.joined_at, a.disabled_at is not null as is_disabled from (
       select account_id, 'owner' as role, false as by_group, created_at as joined_at from workspaces where id = $1
       union all select account_id, role, by_group, created_at from workspace_members where workspace_id = $1) i
     join accounts a on a.id = i.account_id left join auth_user u on u.id = a.user_id where true`,
    values: [workspace.id],
    at: 'i.joined_at',
    id: 'i.account_id',
  };
  return oldestFirst<Row, WorkspaceMemberAnswer>(pool, list, page, {
    endOf: (row) => ({ at: row.joined_at, id: row.account_id }),
    toAnswer,
  });
}

export interface OfMember extends InWorkspace {
  readonly memberId: string;
}

/** Why a member cannot be changed. The role of the owner moves only with the workspace. */
export type NoChange = NoAccess | { readonly why: 'owner' } | { readonly why: 'no_member' };

/**
 * Gives a member another role, which groups no longer change. What members choose for themselves, groups change again: otherwise an
 * admin by a group could stay one without it. A viewer cannot have keys, so a new viewer's keys are revoked. Returns the keys' ids.
 */
export async function changeRole(
  pool: pg.Pool,
  { accountId, workspaceId, memberId }: OfMember,
  role: MemberRole,
): Promise<{ readonly member: WorkspaceMemberAnswer; readonly keyIds: readonly string[] } | Refused<NoChange>> {
  return inWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' }, async (client, workspace) => {
    if (memberId === workspace.accountId) return refused('owner');
    const { rows } = await client.query<Row>(
      `update workspace_members m set role = $3, by_group = m.by_group and m.account_id = $4 from accounts a left join auth_user u on u.id = a.user_id
       where m.workspace_id = $1 and m.account_id = $2 and a.id = m.account_id
       returning m.account_id, u.email, m.role, m.by_group, m.created_at as joined_at, a.disabled_at is not null as is_disabled`,
      [workspace.id, memberId, role, accountId],
    );
    const [row] = rows;
    if (row === undefined) return refused('no_member');
    const act = { actor: byAccount(accountId), accountId: memberId, workspaceId: workspace.id };
    await recordAct(client, { ...act, act: 'member_role_changed', details: { role } });
    return { member: toAnswer(row), keyIds: await revokeRights(client, { workspaceId: workspace.id, memberId, role }) };
  });
}

/**
 * Removes a member. Members may remove themselves. Revokes the member's keys in the workspace and returns their ids.
 */
export async function removeMember(
  pool: pg.Pool,
  { accountId, workspaceId, memberId }: OfMember,
): Promise<readonly string[] | Refused<NoChange>> {
  const action = memberId === accountId ? 'read' : 'manageMembers';
  return inWorkspace(pool, { accountId, workspaceId, action }, async (client, workspace) => {
    if (memberId === workspace.accountId) return refused('owner');
    return endMembership(client, { workspaceId: workspace.id, memberId }, byAccount(accountId));
  });
}

/** A member, in a workspace whose lock the caller holds. */
interface LockedMember {
  readonly workspaceId: string;
  readonly memberId: string;
}

/** Removes a member with their keys and default budget. Returns the ids of the keys. */
export async function endMembership(
  client: pg.PoolClient,
  { workspaceId, memberId }: LockedMember,
  actor: Actor,
): Promise<readonly string[] | Refused<{ readonly why: 'no_member' }>> {
  const place = [workspaceId, memberId];
  const { rowCount } = await client.query(
    'delete from workspace_members where workspace_id = $1 and account_id = $2',
    place,
  );
  if (rowCount === 0) return refused('no_member');
  await removeBudgets(client, { where: 'b.workspace_id = $1 and b.member_id = $2 and b.is_default', values: place });
  await recordAct(client, { actor, act: 'member_removed', accountId: memberId, workspaceId });
  return revokeRights(client, { workspaceId, memberId, role: undefined });
}

/** Ends the invitations and keys of a member whose role no longer allows them. Returns the ids of the keys. */
export async function revokeRights(
  client: pg.PoolClient,
  { workspaceId, memberId, role }: LockedMember & { readonly role: WorkspaceRole | undefined },
): Promise<readonly string[]> {
  if (role === undefined || !mayDo(role, 'manageMembers')) {
    await client.query('delete from workspace_invitations where workspace_id = $1 and invited_by = $2', [
      workspaceId,
      memberId,
    ]);
  }
  return role !== undefined && mayDo(role, 'useOwnKeys') ? [] : revokeWorkspaceKeys(client, workspaceId, memberId);
}

const toAnswer = (row: Row): WorkspaceMemberAnswer => ({
  ...{ account_id: row.account_id, email: row.email, role: row.role, by_group: row.by_group },
  joined_at: row.joined_at.toISOString(),
  disabled: row.is_disabled,
});
