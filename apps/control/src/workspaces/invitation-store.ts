import { randomBytes, randomUUID } from 'node:crypto';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import type { CreateInvitation, WorkspaceInvitationAnswer } from '@sotto/contract/control/workspaces';
import { hashSecret } from '@sotto/state';
import type pg from 'pg';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { Refused, refused } from '../database/refused.ts';
import type { workspaceInvitations } from '../database/workspace-schema.ts';
import { type AtMaximum, atMaximum, type Creation } from '../limits/maximum.ts';
import { byCreation, oldestFirst, type PageQuery } from '../serve/page-cursor.ts';
import { weakRole } from './permissions.ts';
import { accessWorkspace, inWorkspace, type NoAccess } from './workspace-access.ts';
import type { InWorkspace } from './workspace-store.ts';

const lifeMs = 7 * 24 * 60 * 60 * 1000;

type Row = Omit<SqlRow<typeof workspaceInvitations>, 'workspace_id' | 'token_hash' | 'invited_by'>;

export interface Inviting {
  /** Whether the deployment admits an address. The answer does not depend on the accounts that exist. */
  readonly mayInvite: (client: pg.PoolClient, email: string) => Promise<boolean>;
}

/** A new invitation. Only this answer contains its token. */
export interface NewInvitation {
  readonly invitation: WorkspaceInvitationAnswer & { readonly token: string };
  /** The workspace's name. */
  readonly workspace: string;
}

/** Why an address cannot be invited. */
export type NotInvited =
  | NoAccess
  | AtMaximum
  | { readonly why: 'default' }
  /** The address is in the workspace already. */
  | { readonly why: 'present' }
  /** Only a member can become the owner. */
  | { readonly why: 'no_member' }
  /** The deployment does not admit the domain of the address. */
  | { readonly why: 'domain' };

/**
 * Invites an address. The answer is the same whether or not the address has an account. An earlier invitation of the
 * same address becomes void. Callers cannot give a role above their own. The role `owner` is for members only, and
 * never for a default workspace.
 */
export async function inviteAddress(
  pool: pg.Pool,
  { accountId, workspaceId, maxima, mayInvite }: InWorkspace & Pick<Creation, 'maxima'> & Inviting,
  { email, role }: CreateInvitation,
  now: number,
): Promise<NewInvitation | Refused<NotInvited>> {
  return inWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' }, async (client, workspace) => {
    const present = await roleOfAddress(client, workspace.id, email);
    if (role === 'owner') {
      const weak = weakRole(workspace.role, 'handOver');
      if (weak !== undefined) return weak;
      if (workspace.isDefault) return refused('default');
    }
    if (present === 'owner' || (present !== undefined && role !== 'owner')) return refused('present');
    if (present === undefined && role === 'owner') return refused('no_member');
    if (present === undefined && !(await mayInvite(client, email))) return refused('domain');
    await client.query(
      'delete from workspace_invitations where workspace_id = $1 and (email = $2 or expires_at <= $3)',
      [workspace.id, email, new Date(now)],
    );
    const full = await atMaximum(client, 'invitations', { accountId: workspace.accountId, maxima });
    if (full !== undefined) return full;
    const token = `sotto_inv_${randomBytes(32).toString('base64url')}`;
    const { rows } = await client.query<Row>(
      `insert into workspace_invitations (id, workspace_id, email, role, token_hash, invited_by, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7) returning id, email, role, created_at, expires_at`,
      [randomUUID(), workspace.id, email, role, hashSecret(token), accountId, new Date(now + lifeMs)],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the invitation was not inserted');
    await recordAct(client, {
      actor: byAccount(accountId),
      act: 'invitation_created',
      workspaceId: workspace.id,
      details: { invitation_id: row.id, role },
    });
    return { invitation: { ...toAnswer(row), token }, workspace: workspace.name };
  });
}

/** Returns the pending invitations, for members who may invite. */
export async function listInvitations(
  pool: pg.Pool,
  { accountId, workspaceId }: InWorkspace,
  { page, now }: { readonly page: PageQuery; readonly now: number },
): Promise<{ data: WorkspaceInvitationAnswer[]; next_cursor: string | null } | Refused<NoAccess>> {
  const workspace = await accessWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' });
  if (workspace instanceof Refused) return workspace;
  const list = {
    select: `select id, email, role, created_at, expires_at from workspace_invitations
     where workspace_id = $1 and expires_at > $2`,
    values: [workspace.id, new Date(now)],
    at: 'created_at',
    id: 'id',
  };
  return oldestFirst<Row, WorkspaceInvitationAnswer>(pool, list, page, byCreation(toAnswer));
}

export async function withdrawInvitation(
  pool: pg.Pool,
  { accountId, workspaceId }: InWorkspace,
  invitationId: string,
): Promise<Refused<NoAccess | { readonly why: 'no_invitation' }> | undefined> {
  return inWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' }, async (client, workspace) => {
    const { rowCount } = await client.query('delete from workspace_invitations where id = $1 and workspace_id = $2', [
      invitationId,
      workspace.id,
    ]);
    if (rowCount === 0) return refused('no_invitation');
    await recordAct(client, {
      actor: byAccount(accountId),
      act: 'invitation_withdrawn',
      workspaceId: workspace.id,
      details: { invitation_id: invitationId },
    });
    return undefined;
  });
}

async function roleOfAddress(
  client: pg.PoolClient,
  workspaceId: string,
  email: string,
): Promise<WorkspaceRole | undefined> {
  const { rows } = await client.query<{ role: WorkspaceRole }>(
    `select case when w.account_id = a.id then 'owner' else m.role end as role
     from auth_user u join accounts a on a.user_id = u.id join workspaces w on w.id = $1
     left join workspace_members m on m.workspace_id = w.id and m.account_id = a.id
     where u.email = $2 and (w.account_id = a.id or m.account_id is not null)`,
    [workspaceId, email],
  );
  return rows[0]?.role;
}

const toAnswer = (row: Row): WorkspaceInvitationAnswer => ({
  ...{ id: row.id, email: row.email, role: row.role },
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
});
