import { randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import type pg from 'pg';
import { createAccount } from '../accounts/ensure-account.ts';
import { done } from '../testing/outcomes.integration.ts';
import { acceptInvitation, type Invited } from './answer-invitation.ts';
import { inviteAddress } from './invitation-store.ts';
import { createWorkspace } from './workspace-store.ts';

export interface Person {
  readonly accountId: string;
  readonly email: string;
}

export interface Shared {
  readonly owner: Person;
  readonly workspaceId: string;
}

/** People and workspaces in a test's database. Invitations are made and accepted `now`, in ms since 1970. */
export function workspacesOn(pool: pg.Pool, now: number) {
  async function person(): Promise<Person> {
    const [userId, email] = [randomUUID(), `${randomUUID()}@people.example`];
    await pool.query('insert into auth_user (id, name, email) values ($1, $2, $3)', [userId, 'x', email]);
    return { accountId: (await createAccount(pool, { userId, name: email })).accountId, email };
  }

  async function shared(): Promise<Shared> {
    const owner = await person();
    return {
      owner,
      workspaceId: (await done(createWorkspace(pool, { accountId: owner.accountId, maxima: usualMaxima }, 'Shared')))
        .id,
    };
  }

  const as = ({ accountId }: Person, { workspaceId }: Shared) => ({
    accountId,
    workspaceId,
    maxima: usualMaxima,
    mayInvite: async () => true,
  });

  async function offer(who: Person, to: Person, place: Shared, role: WorkspaceRole): Promise<Invited> {
    const { invitation } = await done(inviteAddress(pool, as(who, place), { email: to.email, role }, now));
    return { ...to, by: { token: invitation.token } };
  }

  const acceptOffer = (from: pg.Pool, invited: Invited, at: number) =>
    acceptInvitation(from, invited, { maxima: usualMaxima, now: at });

  async function join(place: Shared, role: WorkspaceRole): Promise<Person> {
    const who = await person();
    await done(acceptOffer(pool, await offer(place.owner, who, place, role), now));
    return who;
  }

  return { acceptOffer, as, join, offer, person, shared };
}
