import { randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { whileHeld } from '@sotto/test-servers';
import { initialPreferences } from '@sotto/wire';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { inTransaction } from '../database/in-transaction.ts';
import { Refused } from '../database/refused.ts';
import { insertKey } from '../keys/key-store.ts';
import { changeKeys } from '../projection/project-keys.ts';
import { putWorkspacePreferences } from '../routing/routing.ts';
import { done, endOf } from '../testing/outcomes.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { declineInvitation, readOffer } from './answer-invitation.ts';
import { listBudgets, setBudget } from './budget-store.ts';
import { inviteAddress, listInvitations, withdrawInvitation } from './invitation-store.ts';
import { changeRole, listMembers, removeMember } from './member-store.ts';
import { lockWorkspace } from './workspace-access.ts';
import { createWorkspace, deleteWorkspace, listWorkspaces } from './workspace-store.ts';
import { type Person, type Shared, workspacesOn } from './workspaces-on.integration.ts';

const { pool } = await openTestDatabase();
const now = Date.now();
const { acceptOffer, as, join, offer, person, shared } = workspacesOn(pool, now);
const page = { limit: 100 };
const dayMs = 86_400_000;

const rolesIn = async (place: Shared): Promise<ReadonlyMap<string, WorkspaceRole>> =>
  new Map(
    (await done(listMembers(pool, as(place.owner, place), page))).data.map(({ account_id, role }) => [
      account_id,
      role,
    ]),
  );

const makeKey = (who: Person, { workspaceId }: Shared) =>
  inTransaction(pool, async (client) => {
    const found = await lockWorkspace(client, { accountId: who.accountId, workspaceId, action: 'useOwnKeys' });
    if (found instanceof Refused) return found;
    const kind = 'inference' as const;
    return insertKey(client, {
      accountId: found.accountId,
      createdBy: who.accountId,
      workspaceId,
      kind,
      name: 'x',
      creditLimitNusd: undefined,
      openaiCompatible: true,
    });
  });

async function workingKeys({ workspaceId }: Shared): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'select id from api_keys where workspace_id = $1 and revoked_at is null',
    [workspaceId],
  );
  return rows.map(({ id }) => id);
}

/**
 * Locks the workspace's row until everything in `works` waits for it. Then each has begun before any has written. The
 * result must not depend on that interleaving.
 */
function allAtOnce({ workspaceId }: Shared, works: readonly (() => Promise<unknown>)[]): Promise<string[]> {
  const waiting = 'select 1 from workspaces where id = ';
  const held = { rows: `${waiting}$1 for update`, values: [workspaceId], waiting };
  return whileHeld(
    pool,
    held,
    works.map((work) => () => endOf(work())),
  );
}

// Ann is an admin by a group, and chooses her own role. Afterwards she leaves the group, which must still end it.
it('a role of a group stays one if its holder chooses a role, and becomes that of a person if another one does', async () => {
  const place = await shared();
  const ann = await join(place, 'admin');
  await pool.query('update workspace_members set by_group = true where account_id = $1', [ann.accountId]);
  const own = await done(changeRole(pool, { ...as(ann, place), memberId: ann.accountId }, 'admin'));
  expect(own.member.by_group).toBe(true);
  const given = await done(changeRole(pool, { ...as(place.owner, place), memberId: ann.accountId }, 'admin'));
  expect(given.member.by_group).toBe(false);
  const again = await done(changeRole(pool, { ...as(ann, place), memberId: ann.accountId }, 'member'));
  expect(again.member.by_group).toBe(false);
});

describe('at the same time', () => {
  it('two admins demote each other: one succeeds, and the other is refused', async () => {
    const place = await shared();
    const [ann, ben] = [await join(place, 'admin'), await join(place, 'admin')];
    const ends = await allAtOnce(place, [
      () => changeRole(pool, { ...as(ann, place), memberId: ben.accountId }, 'viewer'),
      () => changeRole(pool, { ...as(ben, place), memberId: ann.accountId }, 'viewer'),
    ]);
    expect(ends.sort()).toEqual(['done', 'weak_role']);
    const roles = await rolesIn(place);
    expect([roles.get(ann.accountId), roles.get(ben.accountId)].sort()).toEqual(['admin', 'viewer']);
  });

  it('two admins remove each other: one stays', async () => {
    const place = await shared();
    const [ann, ben] = [await join(place, 'admin'), await join(place, 'admin')];
    const ends = await allAtOnce(place, [
      () => removeMember(pool, { ...as(ann, place), memberId: ben.accountId }),
      () => removeMember(pool, { ...as(ben, place), memberId: ann.accountId }),
    ]);
    expect(ends.sort()).toEqual(['done', 'no_workspace']);
    expect((await rolesIn(place)).size).toBe(2);
  });

  it('an invitation is accepted twice: it counts once', async () => {
    const place = await shared();
    const ann = await person();
    const invited = await offer(place.owner, ann, place, 'member');
    const accept = () => acceptOffer(pool, invited, now);
    expect((await allAtOnce(place, [accept, accept, accept])).sort()).toEqual([
      'done',
      'no_invitation',
      'no_invitation',
    ]);
    expect((await rolesIn(place)).get(ann.accountId)).toBe('member');
  });

  // Whoever changes the roles of groups locks workspaces, and then accounts. Accepting waits for the workspace, and must not hold the
  // account meanwhile.
  it('an invitation is accepted and the account is changed beside its workspace: neither waits for the other', async () => {
    const place = await shared();
    const ann = await person();
    const invited = await offer(place.owner, ann, place, 'member');
    const waiting = 'select 1 from workspaces where id = ';
    const held = {
      ...{ rows: `${waiting}$1 for update`, values: [place.workspaceId], waiting },
      meanwhile: (holder: pg.PoolClient) =>
        holder.query('select from accounts where id = $1 for no key update', [ann.accountId]),
    };
    expect(await whileHeld(pool, held, [() => endOf(acceptOffer(pool, invited, now))])).toEqual(['done']);
  });

  it('an invitation is accepted and withdrawn: only one succeeds', async () => {
    const place = await shared();
    const ann = await person();
    const invited = await offer(place.owner, ann, place, 'member');
    const {
      data: [waiting],
    } = await done(listInvitations(pool, as(place.owner, place), { page, now }));
    const ends = await allAtOnce(place, [
      () => acceptOffer(pool, invited, now),
      () => withdrawInvitation(pool, as(place.owner, place), waiting?.id ?? ''),
    ]);
    expect(ends.toSorted()).toEqual(['done', 'no_invitation']);
    expect((await rolesIn(place)).has(ann.accountId)).toBe(ends[0] === 'done');
  });

  it('a workspace is deleted while keys are created and a person joins: no key works afterwards', async () => {
    const place = await shared();
    const [ann, ben] = [await join(place, 'member'), await person()];
    const invited = await offer(place.owner, ben, place, 'member');
    await makeKey(ann, place);
    const ends = await allAtOnce(place, [
      () => makeKey(ann, place),
      () => deleteWorkspace(pool, as(place.owner, place)),
      () => makeKey(place.owner, place),
      () => acceptOffer(pool, invited, now),
    ]);
    expect(ends[1]).toBe('done');
    for (const end of ends) expect(['done', 'no_workspace', 'no_invitation']).toContain(end);
    expect(await workingKeys(place)).toEqual([]);
    for (const { accountId } of [ann, ben, place.owner]) {
      expect((await listWorkspaces(pool, accountId, page)).data.map(({ id }) => id)).not.toContain(place.workspaceId);
    }
    const { rows } = await pool.query('select 1 from workspace_members where workspace_id = $1', [place.workspaceId]);
    expect(rows).toEqual([]);
  });

  it('a member creates a key and is removed: no key of theirs works', async () => {
    const place = await shared();
    const ann = await join(place, 'member');
    const others = await done(makeKey(place.owner, place));
    await done(makeKey(ann, place));
    await allAtOnce(place, [
      () => makeKey(ann, place),
      () => removeMember(pool, { ...as(place.owner, place), memberId: ann.accountId }),
      () => makeKey(ann, place),
    ]);
    expect(await workingKeys(place)).toEqual([others.id]);
  });

  it('preferences are set by an admin who is being demoted: before it, or not at all', async () => {
    const place = await shared();
    const ann = await join(place, 'admin');
    const [put, demoted] = await allAtOnce(place, [
      () => putWorkspacePreferences(pool, { ...as(ann, place), sent: initialPreferences }),
      () => changeRole(pool, { ...as(place.owner, place), memberId: ann.accountId }, 'member'),
    ]);
    expect(demoted).toBe('done');
    expect(['done', 'weak_role']).toContain(put);
    const again = putWorkspacePreferences(pool, { ...as(ann, place), sent: initialPreferences });
    expect(await endOf(again)).toBe('weak_role');
  });

  it('a workspace is deleted and charges booked: both lock the keys in one order, so that they cannot deadlock', async () => {
    const place = await shared();
    for (let made = 0; made < 4; made += 1) await makeKey(place.owner, place);
    const [first] = (await workingKeys(place)).sort();
    const values = [place.workspaceId, first];
    const others = 'select 1 from api_keys where workspace_id = $1 and id <> $2 for update skip locked';
    const held = {
      ...{ rows: 'select 1 from api_keys where workspace_id = $1 and id = $2 for update', values },
      waiting: 'with changing as',
      meanwhile: async (holder: pg.PoolClient) => expect((await holder.query(others, values)).rowCount).toBe(3),
    };
    await whileHeld(pool, held, [() => done(deleteWorkspace(pool, as(place.owner, place)))]);
  });

  it('the future owner is removed and accepts: the workspace has exactly one owner', async () => {
    const place = await shared();
    const ann = await join(place, 'admin');
    const invited = await offer(place.owner, ann, place, 'owner');
    const ends = await allAtOnce(place, [
      () => removeMember(pool, { ...as(place.owner, place), memberId: ann.accountId }),
      () => acceptOffer(pool, invited, now),
    ]);
    expect(ends.filter((end) => end === 'done')).toHaveLength(1);
    const { rows } = await pool.query<{ account_id: string }>('select account_id from workspaces where id = $1', [
      place.workspaceId,
    ]);
    expect(rows[0]?.account_id).toBe(ends[0] === 'done' ? place.owner.accountId : ann.accountId);
  });

  it('an account creates as many workspaces as the limit allows, and no more', async () => {
    const { accountId } = await person();
    await pool.query(
      `insert into workspaces (id, account_id, name, preferences)
       select gen_random_uuid(), $1, 'w', $2 from generate_series(1, 97)`,
      [accountId, JSON.stringify(initialPreferences)],
    );
    const ends = await Promise.all(
      Array.from({ length: 8 }, () => endOf(createWorkspace(pool, { accountId, maxima: usualMaxima }, 'more'))),
    );
    expect(ends.filter((end) => end === 'done')).toHaveLength(2);
    expect(ends.filter((end) => end === 'at_maximum')).toHaveLength(6);
  });
});

describe('invitations', () => {
  it('work for their address only, even after others have tried', async () => {
    const place = await shared();
    const [ann, eve] = [await person(), await person()];
    const invited = await offer(place.owner, ann, place, 'admin');
    const stolen = { ...eve, by: invited.by };
    for (const use of [acceptOffer, declineInvitation, readOffer]) {
      expect(await endOf(use(pool, stolen, now))).toBe('other_address');
    }
    expect(await readOffer(pool, invited, now)).toMatchObject({
      workspace: 'Shared',
      role: 'admin',
      invited_by: place.owner.email,
    });
    expect(await endOf(acceptOffer(pool, invited, now))).toBe('done');
  });

  it('raise the role of a member, and never lower it', async () => {
    const place = await shared();
    const ann = await join(place, 'member');
    const roleAfter = async (role: WorkspaceRole) => {
      const elsewhere = { ...ann, email: `${randomUUID()}@people.example` };
      const { workspace } = await done(acceptOffer(pool, await offer(place.owner, elsewhere, place, role), now));
      return workspace.role;
    };
    expect(await roleAfter('viewer')).toBe('member');
    expect(await roleAfter('admin')).toBe('admin');
    expect(await roleAfter('member')).toBe('admin');
  });

  it('end after seven days', async () => {
    const place = await shared();
    const invited = await offer(place.owner, await person(), place, 'member');
    expect(await endOf(readOffer(pool, invited, now + 7 * dayMs - 1))).toBe('done');
    for (const use of [acceptOffer, declineInvitation, readOffer]) {
      expect(await endOf(use(pool, invited, now + 7 * dayMs))).toBe('no_invitation');
    }
    const left = await done(listInvitations(pool, as(place.owner, place), { page, now: now + 7 * dayMs }));
    expect(left.data).toEqual([]);
  });

  it('are void once they are declined or replaced, or their creator is not an admin any more', async () => {
    const place = await shared();
    const [ann, ben] = [await join(place, 'admin'), await person()];
    const declined = await offer(ann, ben, place, 'member');
    await done(declineInvitation(pool, declined, now));
    const replaced = await offer(ann, ben, place, 'admin');
    const last = await offer(ann, ben, place, 'viewer');
    const pending = await done(listInvitations(pool, as(ann, place), { page, now }));
    expect(pending.data.map(({ role }) => role)).toEqual(['viewer']);
    await done(changeRole(pool, { ...as(place.owner, place), memberId: ann.accountId }, 'member'));
    for (const void_ of [declined, replaced, last]) {
      expect(await endOf(acceptOffer(pool, void_, now))).toBe('no_invitation');
    }
  });

  it('are stored as a hash', async () => {
    const place = await shared();
    const { by } = await offer(place.owner, await person(), place, 'member');
    const token = 'token' in by ? by.token : '';
    const { rows } = await pool.query<{ row: string }>(
      'select i::text as row from workspace_invitations i where workspace_id = $1',
      [place.workspaceId],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.row).not.toContain(token);
  });

  it('do not reveal whether an address has an account', async () => {
    const place = await shared();
    const known = await person();
    const shapes = await Promise.all(
      [known.email, `${randomUUID()}@nobody.example`].map(async (email) => {
        const made = await done(inviteAddress(pool, as(place.owner, place), { email, role: 'member' }, now));
        return { ...made, invitation: { ...made.invitation, id: '', email: '', token: '', created_at: '' } };
      }),
    );
    expect(shapes[0]).toEqual(shapes[1]);
    for (const email of [known.email, `${randomUUID()}@nobody.example`]) {
      expect(await endOf(inviteAddress(pool, as(place.owner, place), { email, role: 'owner' }, now))).toBe('no_member');
    }
  });

  it('as owner transfer the workspace once accepted: the new owner pays, and earlier keys are revoked', async () => {
    const place = await shared();
    const [ann, ben] = [await join(place, 'member'), await join(place, 'admin')];
    await makeKey(ben, place);
    expect(await endOf(inviteAddress(pool, as(ben, place), { email: ann.email, role: 'owner' }, now))).toBe(
      'weak_role',
    );
    const { workspace, keyIds } = await done(acceptOffer(pool, await offer(place.owner, ann, place, 'owner'), now));
    expect(workspace).toMatchObject({ id: place.workspaceId, role: 'owner' });
    expect(keyIds).toHaveLength(1);
    expect(await workingKeys(place)).toEqual([]);
    const roles = await rolesIn(place);
    expect([place.owner, ann, ben].map(({ accountId }) => roles.get(accountId))).toEqual(['admin', 'owner', 'admin']);
    const { rows } = await pool.query<{ account_id: string }>('select account_id from api_keys where id = $1', [
      (await done(makeKey(ben, place))).id,
    ]);
    expect(rows[0]?.account_id).toBe(ann.accountId);
  });
});

/**
 * Nobody can remove a default budget that stays behind, because `removeBudget` refuses default ones. What could leave one behind: each
 * way to leave, and `followDefault` at the same time. It reads the members, and then waits for the account that a deletion holds.
 */
describe('keys of members', () => {
  // A person disconnects an app. It revokes the key of the app, and removes its budgets before an admin's new one is stored.
  it('have no budget once they are revoked, also if it is set in the same moment', async () => {
    const place = await shared();
    const { id: keyId } = await done(makeKey(place.owner, place));
    const held = {
      ...{ rows: 'select from api_keys where id = $1 for update', values: [keyId], waiting: '' },
      meanwhile: (client: pg.PoolClient) => changeKeys(client, { where: 'k.id = $1', values: [keyId], revokes: true }),
    };
    const set = () => endOf(setBudget(pool, as(place.owner, place), { limitNusd: 1n, keyId }, now));
    expect(await whileHeld(pool, held, [set])).toEqual(['no_key']);
    const { data } = await done(listBudgets(pool, as(place.owner, place), { page, now }));
    expect(data).toEqual([]);
  });

  it('stop when their creator becomes a viewer or leaves, and others continue', async () => {
    const place = await shared();
    const [ann, ben, cat] = [await join(place, 'member'), await join(place, 'admin'), await join(place, 'member')];
    for (const who of [ann, ben, cat]) await makeKey(who, place);
    const kept = await done(makeKey(place.owner, place));
    const { keyIds } = await done(changeRole(pool, { ...as(place.owner, place), memberId: ben.accountId }, 'member'));
    expect(keyIds).toEqual([]);
    await done(changeRole(pool, { ...as(place.owner, place), memberId: ann.accountId }, 'viewer'));
    await done(removeMember(pool, { ...as(ben, place), memberId: ben.accountId }));
    await done(removeMember(pool, { ...as(place.owner, place), memberId: cat.accountId }));
    expect(await workingKeys(place)).toEqual([kept.id]);
  });
});
