import { hashSecret } from '@sotto/state';
import { type InvitationOfferAnswer, ServiceError, type WorkspaceAnswer, type WorkspaceRole } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import { unknownInvitation } from './invitation-store.ts';
import { revokeWorkspaceKeys } from './revoke-keys.ts';
import { findWorkspace } from './workspace-access.ts';
import { toAnswer } from './workspace-store.ts';

/** Who holds a token. */
export interface Invited {
  readonly accountId: string;
  readonly email: string;
  readonly token: string;
}

interface Offer {
  id: string;
  workspace_id: string;
  workspace: string;
  owner_id: string;
  email: string;
  role: WorkspaceRole;
  invited_by: string | null;
  expires_at: Date;
}

/** What a token is good for, for whoever holds it and is signed in with its address. */
export async function readOffer(pool: pg.Pool, invited: Invited, now: number): Promise<InvitationOfferAnswer> {
  const offer = await findOffer(pool, invited, now);
  return {
    workspace: offer.workspace,
    role: offer.role,
    invited_by: offer.invited_by,
    expires_at: offer.expires_at.toISOString(),
  };
}

/**
 * Takes what was offered. As `owner` the workspace goes over to the account of whoever accepts: they pay from then on,
 * the owner before becomes an admin, and its keys, which spend from the other wallet, are revoked. Answers their ids.
 */
export async function acceptInvitation(
  pool: pg.Pool,
  invited: Invited,
  now: number,
): Promise<{ readonly workspace: WorkspaceAnswer; readonly keyIds: readonly string[] }> {
  return inTransaction(pool, async (client) => {
    const offer = await useOffer(client, invited, now);
    const place = [offer.workspace_id, invited.accountId];
    if (offer.owner_id === invited.accountId)
      throw new ServiceError('conflict', { message: 'This workspace is yours already.' });
    if (offer.role !== 'owner') {
      await client.query(
        `insert into workspace_members (workspace_id, account_id, role) values ($1, $2, $3)
         on conflict (workspace_id, account_id) do update set role = excluded.role`,
        [...place, offer.role],
      );
    }
    const keyIds = offer.role === 'owner' ? await handOver(client, offer, invited.accountId) : [];
    const workspace = await findWorkspace(client, invited.accountId, offer.workspace_id);
    if (workspace === undefined) throw new Error('the workspace that was joined is not there');
    return { workspace: toAnswer(workspace), keyIds };
  });
}

export async function declineInvitation(pool: pg.Pool, invited: Invited, now: number): Promise<void> {
  await inTransaction(pool, (client) => useOffer(client, invited, now));
}

async function handOver(client: pg.PoolClient, offer: Offer, accountId: string): Promise<readonly string[]> {
  const { workspace_id: workspaceId, owner_id: ownerId } = offer;
  const left = await client.query('delete from workspace_members where workspace_id = $1 and account_id = $2', [
    workspaceId,
    accountId,
  ]);
  // Who was removed since has no claim, whatever they still hold.
  if (left.rowCount === 0) throw unknownInvitation();
  await client.query('update workspaces set account_id = $2 where id = $1', [workspaceId, accountId]);
  await client.query("insert into workspace_members (workspace_id, account_id, role) values ($1, $2, 'admin')", [
    workspaceId,
    ownerId,
  ]);
  await client.query("delete from workspace_invitations where workspace_id = $1 and role = 'owner'", [workspaceId]);
  return revokeWorkspaceKeys(client, workspaceId);
}

/** Uses a token up: of two at once, one finds it. The workspace is locked first, as by every change. */
async function useOffer(client: pg.PoolClient, invited: Invited, now: number): Promise<Offer> {
  const { workspace_id: workspaceId } = await findOffer(client, invited, now);
  await client.query('select 1 from workspaces where id = $1 for update', [workspaceId]);
  const offer = await findOffer(client, invited, now);
  await client.query('delete from workspace_invitations where id = $1', [offer.id]);
  return offer;
}

async function findOffer(client: pg.Pool | pg.PoolClient, { email, token }: Invited, now: number): Promise<Offer> {
  const { rows } = await client.query<Offer>(
    `select i.id, i.workspace_id, w.name as workspace, w.account_id as owner_id, i.email, i.role, u.email as invited_by,
       i.expires_at
     from workspace_invitations i join workspaces w on w.id = i.workspace_id
     join accounts a on a.id = i.invited_by left join auth_user u on u.id = a.user_id
     where i.token_hash = $1 and i.expires_at > $2 and w.deleted_at is null`,
    [hashSecret(token), new Date(now)],
  );
  const [offer] = rows;
  if (offer === undefined) throw unknownInvitation();
  if (offer.email !== email.toLowerCase()) {
    throw new ServiceError('forbidden', { message: 'This invitation is for another address. Sign in with that one.' });
  }
  return offer;
}
