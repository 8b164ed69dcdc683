import { randomBytes, randomUUID } from 'node:crypto';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import type { CreateInvitation, WorkspaceInvitationAnswer } from '@sotto/contract/control/workspaces';
import { hashSecret } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import type { workspaceInvitations } from '../database/workspace-schema.ts';
import { assertBelowMaximum, type Creation } from '../limits/maximum.ts';
import { notFound } from '../serve/not-found.ts';
import { oldestFirst, type PageQuery } from '../serve/page-cursor.ts';
import { assertMay } from './permissions.ts';
import { lockWorkspace, requireWorkspace } from './workspace-access.ts';
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

/**
 * Invites an address. The answer is the same whether or not the address has an account. An earlier invitation of the
 * same address becomes void. Callers cannot give a role above their own. The role `owner` is for members only, and
 * never for a default workspace. Throws `conflict` if the address is in the workspace already, `forbidden` if the
 * deployment does not admit it.
 */
export async function inviteAddress(
  pool: pg.Pool,
  { accountId, workspaceId, maxima, mayInvite }: InWorkspace & Pick<Creation, 'maxima'> & Inviting,
  { email, role }: CreateInvitation,
  now: number,
): Promise<NewInvitation> {
  return inTransaction(pool, async (client) => {
    const workspace = await lockWorkspace(client, { accountId, workspaceId, action: 'manageMembers' });
    const present = await roleOfAddress(client, workspace.id, email);
    if (role === 'owner') {
      assertMay(workspace.role, 'handOver');
      if (workspace.isDefault)
        throw new ServiceError('conflict', { message: 'A default workspace stays with its account.' });
    }
    if (present === 'owner' || (present !== undefined && role !== 'owner'))
      throw new ServiceError('conflict', { message: 'This address is in the workspace already.', param: 'email' });
    if (present === undefined && role === 'owner') {
      throw new ServiceError('conflict', {
        message: 'Only a member can become the owner: invite them first.',
        param: 'role',
      });
    }
    if (present === undefined && !(await mayInvite(client, email)))
      throw new ServiceError('forbidden', {
        message: `This deployment does not admit the domain of ${email}. Ask its operator to invite the address first.`,
        param: 'email',
      });
    await client.query(
      'delete from workspace_invitations where workspace_id = $1 and (email = $2 or expires_at <= $3)',
      [workspace.id, email, new Date(now)],
    );
    await assertBelowMaximum(client, 'invitations', { accountId: workspace.accountId, maxima });
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
): Promise<{ data: WorkspaceInvitationAnswer[]; next_cursor: string | null }> {
  const workspace = await requireWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' });
  const list = {
    select: `select id, email, role, created_at, expires_at from workspace_invitations
     where workspace_id = $1 and expires_at > $2`,
    values: [workspace.id, new Date(now)],
    at: 'created_at',
    id: 'id',
  };
  return oldestFirst<Row, WorkspaceInvitationAnswer>(pool, list, page, {
    endOf: (row) => ({ at: row.created_at, id: row.id }),
    toAnswer,
  });
}

/** Withdraws an invitation. Throws `not_found` if it is not pending any more. */
export async function withdrawInvitation(
  pool: pg.Pool,
  { accountId, workspaceId }: InWorkspace,
  invitationId: string,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const workspace = await lockWorkspace(client, { accountId, workspaceId, action: 'manageMembers' });
    const { rowCount } = await client.query('delete from workspace_invitations where id = $1 and workspace_id = $2', [
      invitationId,
      workspace.id,
    ]);
    if (rowCount === 0) throw notFound('invitation');
    await recordAct(client, {
      actor: byAccount(accountId),
      act: 'invitation_withdrawn',
      workspaceId: workspace.id,
      details: { invitation_id: invitationId },
    });
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

const toAnswer = ({
  id,
  email,
  role,
  created_at: createdAt,
  expires_at: expiresAt,
}: Row): WorkspaceInvitationAnswer => ({
  id,
  email,
  role,
  created_at: createdAt.toISOString(),
  expires_at: expiresAt.toISOString(),
});
