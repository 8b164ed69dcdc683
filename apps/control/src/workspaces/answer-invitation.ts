import type { Maxima } from '@sotto/contract';
import type {
  InvitationOfferAnswer,
  InvitationPreview,
  WaitingInvitationAnswer,
} from '@sotto/contract/control/invitations';
import { type WorkspaceRole, workspaceRoles } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { hashSecret } from '@sotto/state';
import type pg from 'pg';
import { keepAccount, type NoAccount } from '../accounts/keep-account.ts';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { Refused, refused } from '../database/refused.ts';
import { type AtMaximum, atMaximum, type Creation } from '../limits/maximum.ts';
import { oldestFirst, type PageQuery } from '../serve/page-cursor.ts';
import { revokeWorkspaceKeys } from './revoke-keys.ts';
import { findWorkspace } from './workspace-access.ts';
import { toAnswer as toWorkspaceAnswer } from './workspace-store.ts';

/** The invited account and its proof: the invitation's token or, with a verified address, the invitation's id. */
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
  inviter_id: string;
  email: string;
  role: WorkspaceRole;
  invited_by: string | null;
  created_at: Date;
  expires_at: Date;
}

/** Returns the pending invitations of an address. The caller has checked that the address is theirs. */
export function listWaiting(
  pool: pg.Pool,
  email: string,
  { page, now }: { readonly page: PageQuery; readonly now: number },
): Promise<{ data: WaitingInvitationAnswer[]; next_cursor: string | null }> {
  const list = {
    select: `${selectOffers} where i.email = $1 and i.expires_at > $2 and ${stands}`,
    values: [email.toLowerCase(), new Date(now)],
    at: 'i.created_at',
    id: 'i.id',
  };
  return oldestFirst<Offer, WaitingInvitationAnswer>(pool, list, page, {
    endOf: (offer) => ({ at: offer.created_at, id: offer.id }),
    toAnswer: (offer) => ({ id: offer.id, ...toAnswer(offer) }),
  });
}

/** Why an invitation cannot be read or used: there is none of the caller, or its token is for another address. */
export type NoOffer = { readonly why: 'no_invitation' } | { readonly why: 'other_address' };

/** Returns what a person without an account may know of an invitation whose token they have. */
export async function previewInvitation(
  pool: pg.Pool,
  token: string,
  now: number,
): Promise<InvitationPreview | Refused<{ readonly why: 'no_invitation' }>> {
  const { rows } = await pool.query<Offer>(
    `${selectOffers} where i.token_hash = $1 and i.expires_at > $2 and ${stands}`,
    [hashSecret(token), new Date(now)],
  );
  const [offer] = rows;
  if (offer === undefined) return refused('no_invitation');
  return { workspace: offer.workspace, invited_by: offer.invited_by };
}

/** Returns the offer of an invitation to the account with the invited address. */
export async function readOffer(
  pool: pg.Pool,
  invited: Invited,
  now: number,
): Promise<InvitationOfferAnswer | Refused<NoOffer>> {
  const offer = await findOffer(pool, invited, now);
  return offer instanceof Refused ? offer : toAnswer(offer);
}

export interface Accepted {
  readonly workspace: WorkspaceAnswer;
  /** The keys that were revoked, for the projector. */
  readonly keyIds: readonly string[];
  /** The account that paid for the workspace before. */
  readonly formerPayerId: string;
}

/**
 * Accepts an invitation. With the role `owner`, the workspace moves to the account of the invited person, who pays from
 * then on. The previous owner becomes an admin. The workspace's keys spend from the previous wallet, so they are
 * revoked.
 */
export async function acceptInvitation(
  pool: pg.Pool,
  invited: Invited,
  { maxima, now }: { readonly maxima: Maxima; readonly now: number },
): Promise<Accepted | Refused<NoOffer | AtMaximum | NoAccount | { readonly why: 'own' }>> {
  return inTransaction(pool, async (client) => {
    const offer = await useOffer(client, invited, now);
    if (offer instanceof Refused) return offer;
    // A deletion of the account waits until this is stored, or was before it. Locked after the workspace, as everywhere.
    if (!(await keepAccount(client, invited.accountId))) return refused('no_account');
    const place = [offer.workspace_id, invited.accountId];
    if (offer.owner_id === invited.accountId) return refused('own');
    if (offer.role !== 'owner') {
      // An invitation can only raise a role. Lowering one also revokes keys, which `changeRole` does. The same role becomes one that a
      // person gave, unless that person is the member, as in `changeRole`.
      await client.query(
        `insert into workspace_members as present (workspace_id, account_id, role) values ($1, $2, $3)
         on conflict (workspace_id, account_id) do update set role = excluded.role, by_group = false
         where array_position($4::text[], excluded.role) > array_position($4::text[], present.role)
           or excluded.role = present.role and $5`,
        [...place, offer.role, workspaceRoles, offer.inviter_id !== invited.accountId],
      );
    }
    const keyIds =
      offer.role === 'owner' ? await handOver(client, offer, { accountId: invited.accountId, maxima }) : [];
    if (keyIds instanceof Refused) return keyIds;
    await recordAct(client, {
      actor: byAccount(invited.accountId),
      act: offer.role === 'owner' ? 'workspace_transferred' : 'member_joined',
      accountId: invited.accountId,
      workspaceId: offer.workspace_id,
      details: { invitation_id: offer.id, role: offer.role },
    });
    const workspace = await findWorkspace(client, invited.accountId, offer.workspace_id);
    if (workspace === undefined) throw new Error('the workspace that was joined is not there');
    return { workspace: toWorkspaceAnswer(workspace), keyIds, formerPayerId: offer.owner_id };
  });
}

export async function declineInvitation(
  pool: pg.Pool,
  invited: Invited,
  now: number,
): Promise<Refused<NoOffer> | undefined> {
  const used = await inTransaction(pool, (client) => useOffer(client, invited, now));
  return used instanceof Refused ? used : undefined;
}

async function handOver(
  client: pg.PoolClient,
  offer: Offer,
  to: Creation,
): Promise<readonly string[] | Refused<AtMaximum | { readonly why: 'no_invitation' }>> {
  const { workspace_id: workspaceId, owner_id: ownerId } = offer;
  const { accountId } = to;
  const full = await atMaximum(client, 'workspaces', to);
  if (full !== undefined) return full;
  const left = await client.query('delete from workspace_members where workspace_id = $1 and account_id = $2', [
    workspaceId,
    accountId,
  ]);
  // A person who is not a member any more cannot become the owner, even with a valid invitation.
  if (left.rowCount === 0) return refused('no_invitation');
  await client.query('update workspaces set account_id = $2 where id = $1', [workspaceId, accountId]);
  await client.query("insert into workspace_members (workspace_id, account_id, role) values ($1, $2, 'admin')", [
    workspaceId,
    ownerId,
  ]);
  await client.query("delete from workspace_invitations where workspace_id = $1 and role = 'owner'", [workspaceId]);
  // The budgets move to the wallet of the new owner.
  await client.query('update budgets set version = version + 1 where workspace_id = $1 and limit_nusd is not null', [
    workspaceId,
  ]);
  return revokeWorkspaceKeys(client, workspaceId);
}

/**
 * Uses an invitation up. Of two simultaneous calls, only one finds it. Locks the workspace first, like every change.
 */
async function useOffer(client: pg.PoolClient, invited: Invited, now: number): Promise<Offer | Refused<NoOffer>> {
  const found = await findOffer(client, invited, now);
  if (found instanceof Refused) return found;
  await client.query('select 1 from workspaces where id = $1 for update', [found.workspace_id]);
  const offer = await findOffer(client, invited, now);
  if (offer instanceof Refused) return offer;
  await client.query('delete from workspace_invitations where id = $1', [offer.id]);
  return offer;
}

/** SQL: whether the workspace is there, and the inviter may still act. Sign-up asks the same of an invitation (`sign-up-policy.ts`). */
const stands = '(w.deleted_at is null and a.disabled_at is null)';

const selectOffers = `select i.id, i.workspace_id, w.name as workspace, w.account_id as owner_id, a.id as inviter_id, i.email, i.role,
    u.email as invited_by, i.created_at, i.expires_at
  from workspace_invitations i join workspaces w on w.id = i.workspace_id
  join accounts a on a.id = i.invited_by left join auth_user u on u.id = a.user_id`;

async function findOffer(
  client: pg.Pool | pg.PoolClient,
  { email, by }: Invited,
  now: number,
): Promise<Offer | Refused<NoOffer>> {
  const [column, value] = 'token' in by ? ['i.token_hash', hashSecret(by.token)] : ['i.id', by.id];
  const { rows } = await client.query<Offer>(
    `${selectOffers} where ${column} = $1 and i.expires_at > $2 and ${stands}`,
    [value, new Date(now)],
  );
  const [offer] = rows;
  // Ids are not secret. Reveal nothing about another person's invitation.
  const isTheirs = offer?.email === email.toLowerCase();
  if (offer === undefined || (!isTheirs && 'id' in by)) return refused('no_invitation');
  return isTheirs ? offer : refused('other_address');
}

const toAnswer = (offer: Offer): InvitationOfferAnswer => ({
  workspace: offer.workspace,
  role: offer.role,
  invited_by: offer.invited_by,
  expires_at: offer.expires_at.toISOString(),
});
