import { whileHeld } from '@sotto/test-servers';
import { beforeAll, describe, expect, it } from 'vitest';
import { freshAddress, useProvider } from './by-provider.ts';
import { signIn, type Visitor } from './world.ts';

const { world, openid, groups, signInAs } = await useProvider();
const signUp = { mode: 'open' as const, domains: [] };

/** A workspace whose owner is signed in. */
async function ownWorkspace(name: string): Promise<{ id: string; owner: Visitor; email: string }> {
  const ann = await world.verified();
  const owner = await signIn(world.visitor(), ann);
  return { id: (await owner.post('/workspaces', { name })).json.id, owner, email: ann.email };
}

let research: Awaited<ReturnType<typeof ownWorkspace>>;
let teaching: Awaited<ReturnType<typeof ownWorkspace>>;
let visitor: () => Visitor;
beforeAll(async () => {
  [research, teaching] = [await ownWorkspace('Research'), await ownWorkspace('Teaching')];
  const role = (workspaceId: string, of: 'viewer' | 'member' | 'admin', group: string) => ({
    workspaceId,
    role: of,
    group,
  });
  const groupRoles = [
    role(research.id, 'member', 'Engineers'),
    role(research.id, 'admin', 'Leads, all'),
    role(teaching.id, 'viewer', 'Engineers'),
  ];
  ({ visitor } = await world.another({ openid, origin: world.origin, groupRoles, signUp }));
});

/** The members of a workspace without its owner, as `[role, by_group]` by address. */
async function membersOf({ id, owner }: typeof research): Promise<Record<string, [string, boolean]>> {
  const { data } = (await owner.get(`/workspaces/${id}/members`)).json;
  const others = data.filter(({ role }: { role: string }) => role !== 'owner');
  return Object.fromEntries(
    others.map((each: { email: string; role: string; by_group: boolean }) => [each.email, [each.role, each.by_group]]),
  );
}

const signInWith = (email: string, names: readonly string[]) => {
  groups.set(email, names);
  return signInAs(email, visitor());
};

describe('roles from groups', () => {
  it('are given, changed and ended at each sign-in, the strongest of all groups, and written to the audit log', async () => {
    const email = freshAddress();
    await signInWith(email, ['Engineers', 'Others']);
    expect((await membersOf(research))[email]).toEqual(['member', true]);
    expect((await membersOf(teaching))[email]).toEqual(['viewer', true]);
    await signInWith(email, ['Leads, all', 'Engineers']);
    expect((await membersOf(research))[email]).toEqual(['admin', true]);
    await signInWith(email, []);
    expect((await membersOf(research))[email]).toBeUndefined();
    expect((await membersOf(teaching))[email]).toBeUndefined();
    const { data } = (await research.owner.get(`/workspaces/${research.id}/audit`)).json;
    const mine = data.filter((act: { account_email: string }) => act.account_email === email).toReversed();
    expect(mine.map(({ act, actor, details }: Record<string, unknown>) => [act, actor, details])).toEqual([
      ['member_joined', 'identity_provider', { role: 'member' }],
      ['member_role_changed', 'identity_provider', { role: 'admin' }],
      ['member_removed', 'identity_provider', {}],
    ]);
  });

  it('leave alone what people gave, and what they changed by hand', async () => {
    const [invited, changed] = [freshAddress(), freshAddress()];
    const { json } = await research.owner.post(`/workspaces/${research.id}/invitations`, {
      email: invited,
      role: 'viewer',
    });
    const ann = (await signInAs(invited)).visitor;
    expect((await ann.post('/invitations/accept', { token: json.token })).status).toBe(200);
    await signInWith(invited, ['Leads, all']);
    expect((await membersOf(research))[invited]).toEqual(['viewer', false]);
    await signInWith(invited, []);
    expect((await membersOf(research))[invited]).toEqual(['viewer', false]);

    await signInWith(changed, ['Engineers']);
    const { data } = (await research.owner.get(`/workspaces/${research.id}/members`)).json;
    const { account_id: accountId } = data.find((member: { email: string }) => member.email === changed);
    const path = `/workspaces/${research.id}/members/${accountId}`;
    expect((await research.owner.send('PATCH', path, { role: 'admin' })).json).toMatchObject({ by_group: false });
    await signInWith(changed, []);
    expect((await membersOf(research))[changed]).toEqual(['admin', false]);
  });

  // Ben is invited. Before he accepts, a group gives him the same role. The group must not take away what the invitation gave.
  it('leave alone the role of an invitation, also if a group gave the same one meanwhile', async () => {
    const [ben, ann, other] = [freshAddress(), freshAddress(), freshAddress()];
    const invite = async (by: Visitor, email: string, role: string) =>
      (await by.post(`/workspaces/${research.id}/invitations`, { email, role })).json.token;
    const token = await invite(research.owner, ben, 'member');
    const { visitor: signedIn } = await signInWith(ben, ['Engineers']);
    expect((await signedIn.post('/invitations/accept', { token })).status).toBe(200);
    expect((await membersOf(research))[ben]).toEqual(['member', false]);
    await signInWith(ben, []);
    expect((await membersOf(research))[ben]).toEqual(['member', false]);
    // An admin by a group who invites herself, at her next address, stays one by the group.
    const { visitor: admin } = await signInWith(ann, ['Leads, all']);
    const own = await invite(admin, other, 'admin');
    await world.pool.query('update auth_user set email = $2 where email = $1', [ann, other]);
    expect((await admin.post('/invitations/accept', { token: own })).status).toBe(200);
    expect((await membersOf(research))[other]).toEqual(['admin', true]);
  });

  it('never make an owner or an operator, and leave the owner alone', async () => {
    await signInWith(research.email, ['Engineers', 'operator', 'owner']);
    expect((await membersOf(research))[research.email]).toBeUndefined();
    const { rowCount } = await world.pool.query('select from operators');
    expect(rowCount).toBe(0);
  });

  it('end with the keys that the person created in that workspace, and with no other', async () => {
    const email = freshAddress();
    const { visitor: ben } = await signInWith(email, ['Engineers']);
    const inResearch = (await ben.post('/keys', { name: 'x', kind: 'inference', workspace_id: research.id })).json;
    const own = (await ben.post('/keys', { name: 'x', kind: 'inference' })).json;
    // This world has no catalog, so a key that works gets 503.
    const works = async ({ key }: { key: string }) =>
      (await world.visitor().get('/models', { authorization: `Bearer ${key}` })).status !== 401;
    expect([await works(inResearch), await works(own)]).toEqual([true, true]);
    await signInWith(email, []);
    expect([await works(inResearch), await works(own)]).toEqual([false, true]);
  });

  // The key would outlive the role if its request had read the role before, and stored the key after the group was gone. Both take
  // the lock of the workspace, so the key is either revoked with the others or refused.
  it('leave no key to a request that runs while the group is removed', async () => {
    const email = freshAddress();
    const { visitor: ben } = await signInWith(email, ['Engineers']);
    groups.set(email, []);
    const held = {
      rows: 'select 1 from workspaces where id = $1 for update',
      values: [research.id],
      waiting: 'select',
      count: 2,
    };
    const [key] = await whileHeld<{ status: number }>(world.pool, held, [
      () => ben.post('/keys', { name: 'late', kind: 'inference', workspace_id: research.id }),
      () => signInAs(email, visitor()).then(({ back }) => back),
    ]);
    expect([201, 404]).toContain(key?.status);
    expect((await membersOf(research))[email]).toBeUndefined();
    const { rowCount } = await world.pool.query(
      `select from api_keys k join accounts a on a.id = k.created_by join auth_user u on u.id = a.user_id
       where u.email = $1 and k.workspace_id = $2 and k.revoked_at is null`,
      [email, research.id],
    );
    expect(rowCount).toBe(0);
  });
});
