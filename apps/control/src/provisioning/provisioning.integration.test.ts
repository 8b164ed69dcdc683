import { randomUUID } from 'node:crypto';
import type { ScimGroupBody } from '@sotto/contract/control/scim';
import { whileHeld } from '@sotto/test-servers';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { inTransaction } from '../database/in-transaction.ts';
import { Refused } from '../database/refused.ts';
import { endByLogout } from '../sessions/openid-logout.ts';
import type { OpenidClaims } from '../sessions/openid-sessions.ts';
import { signUpPolicy } from '../sessions/sign-up-policy.ts';
import { explained } from '../testing/explained.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { workspacesOn } from '../workspaces/workspaces-on.integration.ts';
import { giveDueRoles, readDuePeople } from './due-roles.ts';
import { applyGroupRoles } from './group-roles.ts';
import { applyPerson, findSignedIn, signedInByProvider } from './provisioned-people.ts';
import { createGroup, listGroups } from './scim/scim-groups.ts';
import { listUsers } from './scim/scim-users.ts';

const { pool } = await openTestDatabase();
const { person, shared } = workspacesOn(pool, Date.now());

const claimsAt = (seconds: number, groups: readonly string[]): OpenidClaims => ({
  ...{ subject: randomUUID(), sid: undefined, email: `${randomUUID()}@work.example`, groups },
  issuedAt: new Date(1_790_000_000_000 + seconds * 1000),
});
const rolesIn = async (workspaceId: string) => {
  const { rows } = await pool.query<{ account_id: string; role: string }>(
    'select account_id, role from workspace_members where workspace_id = $1',
    [workspaceId],
  );
  return rows.map(({ account_id: accountId, role }) => [accountId, role]);
};

// Two sign-ins of one person are under way. Between them, the provider removes a group. The one with the older ID token may be the
// last to store what its token says.
it('the newer ID token decides, in whichever order two sign-ins are completed', async () => {
  const { workspaceId } = await shared();
  const map = [{ workspaceId, role: 'member' as const, group: 'Engineers' }];
  const signIn = (accountId: string, claims: OpenidClaims) =>
    inTransaction(pool, (client) => signedInByProvider(client, { accountId, claims }, { map }));
  const [before, after] = [claimsAt(0, ['Engineers']), claimsAt(1, [])];
  for (const order of [
    [before, after],
    [after, before],
  ]) {
    const { accountId } = await person();
    for (const claims of order) await signIn(accountId, claims);
    expect(await rolesIn(workspaceId)).toEqual([]);
  }
  const { accountId } = await person();
  await Promise.all([after, before, before, after].map((claims) => signIn(accountId, claims)));
  expect(await rolesIn(workspaceId)).toEqual([]);
  // No other group is kept.
  await signIn(accountId, claimsAt(2, ['Engineers', 'Tennis']));
  const { rows } = await pool.query('select openid_groups from accounts where id = $1', [accountId]);
  expect([rows, await rolesIn(workspaceId)]).toEqual([[{ openid_groups: ['Engineers'] }], [[accountId, 'member']]]);
});

// Each call locks an account and several workspaces. In different orders, they would wait for each other.
it('many people with roles in many workspaces change at once without a deadlock', async () => {
  const places = [await shared(), await shared(), await shared()];
  const people = [await person(), await person(), await person(), await person()];
  const map = places.map(({ workspaceId }) => ({ workspaceId, role: 'member' as const, group: 'Engineers' }));
  const accountIds = people.map(({ accountId }) => accountId);
  await pool.query("update accounts set openid_groups = '{Engineers}' where id = any($1)", [accountIds]);
  const give = (accountId: string, at: number) =>
    inTransaction(pool, (client) =>
      applyGroupRoles(client, { accountId, map: at % 2 === 0 ? map : map.toReversed().slice(1) }),
    );
  await Promise.all([...accountIds, ...accountIds.toReversed(), ...accountIds.slice(1)].map(give));
  for (const accountId of accountIds) await give(accountId, 0);
  for (const { workspaceId } of places) expect(await rolesIn(workspaceId)).toHaveLength(people.length);
});

describe('a change of a group in SCIM', () => {
  /** A workspace that gives members of a new group a role, and people of SCIM with accounts, in the order of their ids. */
  const provisioned = async (group: string) => {
    const { workspaceId } = await shared();
    const map = [{ workspaceId, role: 'member' as const, group }];
    const made = [await person(), await person()].map(({ accountId }) => ({ accountId, id: randomUUID() }));
    const people = made.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const { accountId, id } of people)
      await pool.query(
        "insert into scim_users (id, user_name, addresses, attributes, account_id) values ($1::uuid, $1::text, '{}', '{}', $2)",
        [id, accountId],
      );
    const members = people.map(({ id }) => ({ value: id }));
    const body = { displayName: group, members } as ScimGroupBody;
    return { workspaceId, people, store: { pool, map, base: '' }, body };
  };
  const membersOf = (written: Awaited<ReturnType<typeof createGroup>>) =>
    written instanceof Refused ? written : written.resource.members?.map(({ value }) => value);

  // The second person's account is locked by a booking. The first one's role is given by then, and nothing of theirs is locked.
  it('locks one account at a time', async () => {
    const { workspaceId, people, store, body } = await provisioned('Chemists');
    const [first, second] = people.map(({ accountId }) => accountId);
    const held = {
      ...{ rows: 'select from accounts where id = $1 for update', values: [second] },
      waiting: 'select disabled_at is not null',
      meanwhile: async () => {
        expect(await rolesIn(workspaceId)).toEqual([[first, 'member']]);
        await pool.query('select from accounts where id = $1 for update nowait', [first]);
      },
    };
    const [written] = await whileHeld(pool, held, [() => createGroup(store, body)]);
    expect(membersOf(written as never)).toEqual(people.map(({ id }) => id));
    expect(await rolesIn(workspaceId)).toHaveLength(2);
  });

  it('waits for no account if the group gives no roles', async () => {
    const { people, store, body } = await provisioned('Biologists');
    await inTransaction(pool, async (client) => {
      await client.query('select from accounts where id = any($1) for update', [people.map((each) => each.accountId)]);
      await createGroup(store, { ...body, displayName: 'Others' });
    });
    expect(await readDuePeople(pool, 9)).toEqual([]);
  });

  // The process ends, or the database refuses, between the change of the group and the roles. The answer says what is stored, and nobody
  // sends the change again: the roles must come by themselves.
  it('is stored as a whole, and roles that failed are given later', async () => {
    const { workspaceId, people, store, body } = await provisioned('Physicists');
    let connections = 0;
    const failing = Object.assign(Object.create(pool), {
      connect: () => (++connections === 3 ? Promise.reject(new Error('refused')) : pool.connect()),
    });
    const group = await createGroup({ ...store, pool: failing }, body);
    expect(membersOf(group)).toEqual(people.map(({ id }) => id));
    const [first, second] = people.map(({ accountId }) => accountId);
    expect(await rolesIn(workspaceId)).toEqual([[first, 'member']]);
    const due = await readDuePeople(pool, 9);
    expect(due).toEqual([people[1]?.id]);
    await Promise.all([giveDueRoles(store, due), giveDueRoles(store, due)]);
    expect(await rolesIn(workspaceId)).toEqual([
      [first, 'member'],
      [second, 'member'],
    ]);
    expect(await readDuePeople(pool, 9)).toEqual([]);
  });
});

// A booking has locked the first key of a person by the order of ids, and now needs the second. Leaving changes the second key, in a
// workspace of groups, before the first. It must not hold the second while it waits for the first. The first key is the person's own, or
// that of a grant which another person gave to their app.
it.each(['own', 'app'])('leaving and a booking of the same keys do not deadlock (%s)', async (whose) => {
  const { workspaceId, owner } = await shared();
  const ann = await person();
  const [own] = (await pool.query<{ id: string }>('select id from workspaces where account_id = $1', [ann.accountId]))
    .rows;
  await pool.query(
    "insert into workspace_members (workspace_id, account_id, role, by_group) values ($1, $2, 'member', true)",
    [workspaceId, ann.accountId],
  );
  const [first = '', second = ''] = [randomUUID(), randomUUID()].sort();
  const makeKey = (id: string, accountId: string, place: string | undefined, creatorId = ann.accountId) =>
    pool.query(
      `insert into api_keys (id, account_id, workspace_id, created_by, kind, name, hash, preview, projected_generation)
       values ($1::uuid, $2, $3, $4, 'inference', 'x', ($1::uuid)::text, 'x', 1)`,
      [id, accountId, place, creatorId],
    );
  if (whose === 'own') await makeKey(first, ann.accountId, own?.id);
  else {
    await makeKey(first, owner.accountId, workspaceId, owner.accountId);
    await pool.query(
      `with app as (insert into connect_apps (id, account_id, name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes)
         values (gen_random_uuid(), $2, 'x', 'https://app.example', 'public', '[]', '[]', '[]') returning id)
       insert into connect_grants (id, app_id, account_id, key_id, scopes, expires_at) select $1, id, $3, $1, '[]', now() from app`,
      [first, ann.accountId, owner.accountId],
    );
  }
  await makeKey(second, owner.accountId, workspaceId);
  const lock = 'select from api_keys where id = $1 for update';
  const held = {
    ...{ rows: lock, values: [first], waiting: '' },
    meanwhile: (booking: pg.PoolClient) => booking.query(lock, [second]),
  };
  const leave = () =>
    inTransaction(pool, (client) => applyPerson(client, { accountId: ann.accountId, active: false }, { map: [] }));
  const [keyIds] = await whileHeld(pool, held, [leave]);
  expect([...new Set(keyIds)].sort()).toEqual([first, second]);
});

// An account that is not of the provider changes to the address of a person of SCIM. Leaving would not reach it.
it('a person of SCIM admits their address only to a sign-in with the provider', async () => {
  const policy = signUpPolicy(pool, { mode: 'invited', domains: ['elsewhere.example'] }, Date.now);
  const { email } = claimsAt(0, []);
  await pool.query(
    "insert into scim_users (id, user_name, addresses, attributes) values (gen_random_uuid(), $1, array[$1], '{}')",
    [email],
  );
  expect(await policy.admits(email, 'openid')).toBe(true);
  expect([await policy.admits(email, 'password'), await policy.allowsAddress(email)]).toEqual([false, false]);
});

it('finds people, groups and sessions by indexes', async () => {
  const store = { pool, map: [], base: '' };
  const page = { startIndex: 1, count: 10 };
  const users = (filter?: string) =>
    explained(pool, (database) => listUsers({ ...store, pool: database }, { ...page, filter }));
  expect(await users('userName eq "ann"')).toContain('Index Scan using scim_users_name_key');
  expect(await users('externalId eq "x"')).toContain('scim_users_external_idx');
  expect(await users()).toContain('Index Scan using scim_users_created_idx');
  expect(await explained(pool, (database) => readDuePeople(database, 9))).toContain('scim_users_due_idx');
  const groups = (filter?: string) =>
    explained(pool, (database) => listGroups({ ...store, pool: database }, { ...page, filter }));
  expect(await groups('displayName eq "x"')).toContain('Index Scan using scim_groups_name_key');
  expect(await groups()).toContain('scim_group_members_group_id_user_id_pk');
  const found = await explained(pool, (database) =>
    findSignedIn(database as never, { id: randomUUID(), externalId: 'x', addresses: ['ann@work.example'] }),
  );
  // Addresses have an inverted index, which only bitmap scans use. They are off here.
  expect(found).not.toContain('Seq Scan on scim_users s');
  const bySid = { id: 'a', subject: undefined, sid: 'b', issuedAt: new Date() };
  expect(await explained(pool, (database) => endByLogout(database, bySid, 0))).toContain('auth_session_openid_sid_idx');
  const byPerson = { ...bySid, subject: 'ann', sid: undefined };
  const plan = await explained(pool, (database) => endByLogout(database, byPerson, 0));
  expect(plan).toContain('auth_account_provider_account_key');
  expect(plan).toContain('auth_session_user_id_idx');
});
