import { hashSecret } from '@sotto/state';
import {
  type InvitationOfferAnswer,
  ServiceError,
  type WaitingInvitationAnswer,
  type WorkspaceAnswer,
  type WorkspaceRole,
  workspaceRoles,
} from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import { unknown } from '../serve/unknown.ts';
import { revokeWorkspaceKeys } from './revoke-keys.ts';
import { findWorkspace } from './workspace-access.ts';
import { toAnswer as toWorkspaceAnswer } from './workspace-store.ts';

/** Whoever was invited, and by what they show it: the token, or, with a verified address, the invitation's id. */
export interface Invited {
  readonly accountId: string;
  readonly email: string;
  readonly by: { readonly token: string } | { readonly id: string };
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

/** The invitations that wait for an address. The caller knows that it is theirs. */
export async function listWaiting(pool: pg.Pool, email: string, now: number): Promise<WaitingInvitationAnswer[]> {
  const { rows } = await pool.query<Offer>(
    `${selectOffers} where i.email = $1 and i.expires_at > $2 and w.deleted_at is null order by i.created_at, i.id`,
    [email.toLowerCase(), new Date(now)],
  );
  return rows.map((offer) => ({ id: offer.id, ...toAnswer(offer) }));
}

/** What a token is good for, for whoever holds it and is signed in with its address. */
export async function readOffer(pool: pg.Pool, invited: Invited, now: number): Promise<InvitationOfferAnswer> {
  return toAnswer(await findOffer(pool, invited, now));
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
      // It lets in and raises. To lower takes keys away as well: that is `changeRole`.
      await client.query(
        `insert into workspace_members as present (workspace_id, account_id, role) values ($1, $2, $3)
         on conflict (workspace_id, account_id) do update set role = excluded.role
         where array_position($4::text[], excluded.role) > array_position($4::text[], present.role)`,
        [...place, offer.role, workspaceRoles],
      );
    }
    const keyIds = offer.role === 'owner' ? await handOver(client, offer, invited.accountId) : [];
    const workspace = await findWorkspace(client, invited.accountId, offer.workspace_id);
    if (workspace === undefined) throw new Error('the workspace that was joined is not there');
    return { workspace: toWorkspaceAnswer(workspace), keyIds };
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
  if (left.rowCount === 0) throw unknown('invitation');
  await client.query('update workspaces set account_id = $2 where id = $1', [workspaceId, accountId]);
  await client.query("insert into workspace_members (workspace_id, account_id, role) values ($1, $2, 'admin')", [
    workspaceId,
    ownerId,
  ]);
  await client.query("delete from workspace_invitations where workspace_id = $1 and role = 'owner'", [workspaceId]);
  return revokeWorkspaceKeys(client, workspaceId);
}

/** Uses an invitation up: of two at once, one finds it. The workspace is locked first, as by every change. */
async function useOffer(client: pg.PoolClient, invited: Invited, now: number): Promise<Offer> {
  const { workspace_id: workspaceId } = await findOffer(client, invited, now);
  await client.query('select 1 from workspaces where id = $1 for update', [workspaceId]);
  const offer = await findOffer(client, invited, now);
  await client.query('delete from workspace_invitations where id = $1', [offer.id]);
  return offer;
}

const selectOffers = `select i.id, i.workspace_id, w.name as workspace, w.account_id as owner_id, i.email, i.role,
    u.email as invited_by, i.expires_at
  from workspace_invitations i join workspaces w on w.id = i.workspace_id
  join accounts a on a.id = i.invited_by left join auth_user u on u.id = a.user_id`;

async function findOffer(client: pg.Pool | pg.PoolClient, { email, by }: Invited, now: number): Promise<Offer> {
  const [column, value] = 'token' in by ? ['i.token_hash', hashSecret(by.token)] : ['i.id', by.id];
  const { rows } = await client.query<Offer>(
    `${selectOffers} where ${column} = $1 and i.expires_at > $2 and w.deleted_at is null`,
    [value, new Date(now)],
  );
  const [offer] = rows;
  // An id is no secret: of somebody else's invitation it tells nothing.
  const isTheirs = offer?.email === email.toLowerCase();
  if (offer === undefined || (!isTheirs && 'id' in by)) throw unknown('invitation');
  if (!isTheirs) {
    throw new ServiceError('forbidden', { message: 'This invitation is for another address. Sign in with that one.' });
  }
  return offer;
}

const toAnswer = (offer: Offer): InvitationOfferAnswer => ({
  workspace: offer.workspace,
  role: offer.role,
  invited_by: offer.invited_by,
  expires_at: offer.expires_at.toISOString(),
});
