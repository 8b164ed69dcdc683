import { randomUUID } from 'node:crypto';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { initialPreferences } from '@sotto/wire';
import type pg from 'pg';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { type Refused, refused } from '../database/refused.ts';
import type { workspaces } from '../database/schema.ts';
import { removeBudgets } from '../ledger/remove-budgets.ts';
import { type AtMaximum, atMaximum, type Creation } from '../limits/maximum.ts';
import { byCreation, oldestFirst, type PageQuery } from '../serve/page-cursor.ts';
import { revokeWorkspaceKeys } from './revoke-keys.ts';
import { inWorkspace, type NoAccess, ownerEmail, type WorkspaceAccess } from './workspace-access.ts';

type Row = SqlRow<typeof workspaces, 'id' | 'name' | 'is_default' | 'created_at'> & {
  role: WorkspaceRole;
  owner_email: string | null;
};

/** Returns the workspaces that an account owns or is a member of, the oldest first. */
export function listWorkspaces(
  pool: pg.Pool,
  accountId: string,
  page: PageQuery,
): Promise<{ data: WorkspaceAnswer[]; next_cursor: string | null }> {
  const list = {
    select: `select w.id, w.name, w.is_default and w.account_id = $1 as is_default, w.created_at,
       case when w.account_id = $1 then 'owner' else m.role end as role, ${ownerEmail}
     from workspaces w left join workspace_members m on m.workspace_id = w.id and m.account_id = $1
     where w.deleted_at is null
       and (w.account_id = $1 or w.id in (select workspace_id from workspace_members where account_id = $1))`,
    values: [accountId],
    at: 'w.created_at',
    id: 'w.id',
  };
  return oldestFirst<Row, WorkspaceAnswer>(pool, list, page, byCreation(fromRow));
}

export async function createWorkspace(
  pool: pg.Pool,
  { accountId, maxima }: Creation,
  name: string,
): Promise<WorkspaceAnswer | Refused<NoAccess | AtMaximum>> {
  // The default workspace is locked, because a deletion of the account locks its workspaces, too.
  return inWorkspace(pool, { accountId, workspaceId: undefined, action: 'read' }, async (client) => {
    const full = await atMaximum(client, 'workspaces', { accountId, maxima });
    if (full !== undefined) return full;
    const { rows } = await client.query<Row>(
      `insert into workspaces as w (id, account_id, name, preferences) values ($1, $2, $3, $4)
       returning id, name, is_default, created_at, 'owner' as role, ${ownerEmail}`,
      [randomUUID(), accountId, name, JSON.stringify(initialPreferences)],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the workspace was not inserted');
    await recordAct(client, { actor: byAccount(accountId), act: 'workspace_created', workspaceId: row.id });
    return fromRow(row);
  });
}

export interface InWorkspace {
  readonly accountId: string;
  readonly workspaceId: string;
}

export async function renameWorkspace(
  pool: pg.Pool,
  caller: InWorkspace,
  name: string,
): Promise<WorkspaceAnswer | Refused<NoAccess>> {
  return inWorkspace(pool, { ...caller, action: 'rename' }, async (client, workspace) => {
    await client.query('update workspaces set name = $2 where id = $1', [workspace.id, name]);
    await recordAct(client, {
      actor: byAccount(caller.accountId),
      act: 'workspace_renamed',
      workspaceId: workspace.id,
    });
    return toAnswer({ ...workspace, name });
  });
}

/**
 * Deletes a workspace, revokes its keys and removes its budgets in the same transaction. A key that is being created meanwhile is either
 * revoked with them or refused. Usage of the keys stays. Refuses for a default workspace. Returns the keys' ids.
 */
export async function deleteWorkspace(
  pool: pg.Pool,
  caller: InWorkspace,
): Promise<readonly string[] | Refused<NoAccess | { readonly why: 'default' }>> {
  return inWorkspace(pool, { ...caller, action: 'delete' }, async (client, workspace) => {
    if (workspace.isDefault) return refused('default');
    await client.query('update workspaces set deleted_at = now() where id = $1', [workspace.id]);
    await client.query('delete from workspace_invitations where workspace_id = $1', [workspace.id]);
    await client.query('delete from workspace_members where workspace_id = $1', [workspace.id]);
    await client.query('delete from workspace_webhooks where workspace_id = $1', [workspace.id]);
    await recordAct(client, {
      actor: byAccount(caller.accountId),
      act: 'workspace_deleted',
      workspaceId: workspace.id,
    });
    const keyIds = await revokeWorkspaceKeys(client, workspace.id);
    await removeBudgets(client, { where: 'b.workspace_id = $1', values: [workspace.id] });
    return keyIds;
  });
}

const fromRow = ({ created_at: createdAt, is_default: isDefault, owner_email, ...row }: Row): WorkspaceAnswer =>
  toAnswer({ ...row, createdAt, isDefault, ownerEmail: owner_email });

export const toAnswer = (
  workspace: Pick<WorkspaceAccess, 'id' | 'name' | 'isDefault' | 'role' | 'ownerEmail' | 'createdAt'>,
): WorkspaceAnswer => ({
  ...{ id: workspace.id, name: workspace.name, is_default: workspace.isDefault, role: workspace.role },
  owner_email: workspace.ownerEmail,
  created_at: workspace.createdAt.toISOString(),
});
