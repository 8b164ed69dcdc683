import { randomUUID } from 'node:crypto';
import { until, whileHeld } from '@sotto/test-servers';
import { beforeAll, describe, expect, it } from 'vitest';
import { password } from '../../kit/signed-up.ts';
import { freshAddress, useProvider } from './by-provider.ts';
import { scimClient, scimToken } from './scim-client.ts';
import { type Answer, sessionStatus, signIn, type Visitor } from './world.ts';

const { world, openid, signInAs, arrive } = await useProvider();
const signUp = { mode: 'invited' as const, domains: ['elsewhere.example'] };

let scim: ReturnType<typeof scimClient>;
let visitor: () => Visitor;
let research: string;
let owner: Visitor;
beforeAll(async () => {
  owner = await signIn(world.visitor(), await world.verified());
  research = (await owner.post('/workspaces', { name: 'Research' })).json.id;
  const groupRoles = [{ workspaceId: research, role: 'member' as const, group: 'Engineers' }];
  const strict = await world.another({ openid, origin: world.origin, groupRoles, signUp, scimToken });
  ({ visitor } = strict);
  scim = scimClient(strict.address);
});

interface Person {
  readonly email: string;
  readonly id: string;
}

async function provisioned(email = freshAddress()): Promise<Person> {
  const { status, json } = await scim.post('/Users', { userName: email, externalId: `other-${email}` });
  expect(status).toBe(201);
  return { email, id: json.id };
}

const setActive = async ({ id }: Person, value: boolean): Promise<void> => {
  expect((await scim.patch(`/Users/${id}`, { op: 'replace', path: 'active', value })).status).toBe(200);
};

const roleOf = async (email: string): Promise<string | undefined> => {
  const { data } = (await owner.get(`/workspaces/${research}/members`)).json;
  return data.find((member: { email: string }) => member.email === email)?.role;
};

const newKey = async (who: Visitor, workspaceId?: string): Promise<string> => {
  const body = { name: 'x', kind: 'inference', ...(workspaceId && { workspace_id: workspaceId }) };
  return (await who.post('/keys', body)).json.key;
};

/** Whether a key works. This world has no catalog, so one that works gets 503. */
const works = async (key: string): Promise<boolean> =>
  (await world.visitor().get('/models', { authorization: `Bearer ${key}` })).status !== 401;

const accountOf = async (email: string) => {
  const { rows } = await world.pool.query<{ id: string; disabled: boolean; balance: string; operator: boolean }>(
    `select a.id, a.disabled_at is not null as disabled, a.balance_nusd as balance,
       exists (select from operators o where o.user_id = u.id) as operator
     from accounts a join auth_user u on u.id = a.user_id where u.email = $1`,
    [email],
  );
  return rows[0];
};

const errorOf = ({ headers }: Answer): string | null => headers.get('location');

describe('a person of SCIM', () => {
  it('may sign in with the provider, whatever the policy of sign-up, and gets the roles of their groups', async () => {
    expect(errorOf((await signInAs(freshAddress(), visitor())).back)).toContain('sign_up_refused');
    const ann = await provisioned();
    const group = await scim.post('/Groups', { displayName: 'Engineers', members: [{ value: ann.id }] });
    expect(await roleOf(ann.email)).toBeUndefined();
    const { visitor: signedIn } = await signInAs(ann.email, visitor());
    expect(await sessionStatus(signedIn)).toBe(200);
    expect(await roleOf(ann.email)).toBe('member');
    // Joining and leaving a group counts at once.
    const path = `/Groups/${group.json.id}`;
    await scim.patch(path, { op: 'remove', path: `members[value eq "${ann.id}"]` });
    expect(await roleOf(ann.email)).toBeUndefined();
    await scim.patch(path, { op: 'add', path: 'members', value: [{ value: ann.id }] });
    expect(await roleOf(ann.email)).toBe('member');
    await scim.patch(path, { op: 'replace', path: 'displayName', value: 'Others' });
    expect(await roleOf(ann.email)).toBeUndefined();
    await scim.patch(path, { op: 'replace', path: 'displayName', value: 'Engineers' });
    expect(await roleOf(ann.email)).toBe('member');
    await scim.delete(path);
    expect(await roleOf(ann.email)).toBeUndefined();
  });

  // The person of SCIM signs up by password, the provider says that they leave, and nothing ties their account to the person.
  it('may not sign up by password', async () => {
    const ann = await provisioned();
    const byPassword = await visitor().post('/auth/sign-up/email', { name: 'Ann', email: ann.email, password });
    expect([byPassword.status, byPassword.text]).toEqual([403, expect.stringContaining('sign up')]);
    expect(await accountOf(ann.email)).toBeUndefined();
    expect(await sessionStatus((await signInAs(ann.email, visitor())).visitor)).toBe(200);
  });

  it('who leaves has no session, no key, no role and no way in, and keeps the money; who comes back has what is theirs', async () => {
    const ann = await provisioned();
    const group = await scim.post('/Groups', { displayName: 'Engineers', members: [{ value: ann.id }] });
    const { visitor: signedIn } = await signInAs(ann.email, visitor());
    const [own, shared] = [await newKey(signedIn), await newKey(signedIn, research)];
    expect([await works(own), await works(shared)]).toEqual([true, true]);
    const account = await accountOf(ann.email);
    await world.cli(['account', 'credit', account?.id ?? '', '5', '--reference', ann.email]);
    await world.pool.query('insert into operators (user_id) select user_id from accounts where id = $1', [account?.id]);

    await setActive(ann, false);
    expect(await sessionStatus(signedIn)).toBe(401);
    expect([await works(own), await works(shared)]).toEqual([false, false]);
    expect(await roleOf(ann.email)).toBeUndefined();
    expect(await accountOf(ann.email)).toMatchObject({ disabled: true, operator: false, balance: '5000000000' });
    expect(errorOf((await signInAs(ann.email, visitor())).back)).toContain('account_disabled');

    await setActive(ann, true);
    expect(await roleOf(ann.email)).toBe('member');
    expect(await accountOf(ann.email)).toMatchObject({ disabled: false, operator: false, balance: '5000000000' });
    // The session of before stays ended, and so do the keys in the workspace.
    expect(await sessionStatus(signedIn)).toBe(401);
    expect([await works(own), await works(shared)]).toEqual([true, false]);
    expect(await sessionStatus((await signInAs(ann.email, visitor())).visitor)).toBe(200);
    await scim.delete(`/Groups/${group.json.id}`);
  });

  it('who leaves lets nobody in by an invitation any more, also not who has an account already', async () => {
    const [ann, ben] = [await provisioned(), await world.verified(`${randomUUID()}@elsewhere.example`)];
    const { visitor: admin } = await signInAs(ann.email, visitor());
    const invite = async (by: Visitor, email: string) =>
      (await by.post(`/workspaces/${research}/invitations`, { email, role: 'admin' })).json.token;
    await admin.post('/invitations/accept', { token: await invite(owner, ann.email) });
    const token = await invite(admin, ben.email);
    const invited = await signIn(world.visitor(), ben);
    const [waiting] = (await invited.get('/invitations')).json.data;
    expect(waiting).toMatchObject({ role: 'admin', invited_by: ann.email });
    await setActive(ann, false);
    expect((await invited.get('/invitations')).json.data).toEqual([]);
    for (const path of ['/invitations/read', '/invitations/accept'])
      expect((await invited.post(path, { token })).status, path).toBe(404);
    expect((await invited.post(`/invitations/${waiting.id}/accept`)).status).toBe(404);
    await setActive(ann, true);
    expect((await invited.post('/invitations/accept', { token })).status).toBe(200);
  });

  it('who is deleted leaves, and comes back if the provider creates them again', async () => {
    const ann = await provisioned();
    const { visitor: signedIn } = await signInAs(ann.email, visitor());
    expect((await scim.delete(`/Users/${ann.id}`)).status).toBe(204);
    expect(await sessionStatus(signedIn)).toBe(401);
    expect(errorOf((await signInAs(ann.email, visitor())).back)).toContain('account_disabled');
    // The address alone does not bring the person back. The subject does.
    const again = await provisioned(ann.email);
    expect(errorOf((await signInAs(ann.email, visitor())).back)).toContain('account_disabled');
    expect((await scim.delete(`/Users/${again.id}`)).status).toBe(204);
    const known = await scim.post('/Users', { userName: ann.email, externalId: ann.email });
    expect(known.status).toBe(201);
    expect(await sessionStatus((await signInAs(ann.email, visitor())).visitor)).toBe(200);
  });

  // Ann leaves. The provider gives her address to Ben, creates him here, and signs him in with his own subject.
  it('whose address the provider gives to another person stays out, and so does the other', async () => {
    const ann = await provisioned();
    await signInAs(ann.email, visitor());
    await world.pool.query("update auth_account set account_id = 'subject of Ann' where account_id = $1", [ann.email]);
    const own = await accountOf(ann.email);
    expect((await scim.delete(`/Users/${ann.id}`)).status).toBe(204);
    // In either order: the sign-in before SCIM knows Ben, and after it.
    const ways = async () =>
      (
        await world.pool.query(
          'select w.account_id from auth_account w join accounts a on a.user_id = w.user_id where a.id = $1',
          [own?.id],
        )
      ).rows;
    expect(errorOf((await signInAs(ann.email, visitor())).back)).toContain('account_disabled');
    expect(await ways()).toEqual([{ account_id: 'subject of Ann' }]);
    const created = await scim.post('/Users', { userName: ann.email, externalId: ann.email });
    expect(created.status).toBe(201);
    expect(errorOf((await signInAs(ann.email, visitor())).back)).toContain('account_disabled');
    expect(await ways()).toEqual([{ account_id: 'subject of Ann' }]);
    expect(await accountOf(ann.email)).toMatchObject({ id: own?.id, disabled: true });
  });

  it('is enabled again only if leaving disabled the account, and not if an operator did', async () => {
    const [ann, ben] = [await provisioned(), await provisioned()];
    for (const { email } of [ann, ben]) await signInAs(email, visitor());
    const disable = async ({ email }: Person) => world.cli(['account', 'disable', (await accountOf(email))?.id ?? '']);
    await disable(ann);
    await setActive(ann, false);
    await setActive(ann, true);
    await setActive(ben, false);
    await disable(ben);
    await setActive(ben, true);
    expect([await accountOf(ann.email), await accountOf(ben.email)]).toMatchObject([
      { disabled: true },
      { disabled: true },
    ]);
  });

  it('is never found by the address alone: an account that the provider never signed in stays as it is', async () => {
    const ann = await world.verified();
    const own = await signIn(world.visitor(), ann);
    const person = await provisioned(ann.email);
    await setActive(person, false);
    expect(await sessionStatus(own)).toBe(200);
    expect(await accountOf(ann.email)).toMatchObject({ disabled: false });
    await signIn(world.visitor(), { ...ann, password });
    // The provider signs the person in, whom SCIM says to have left.
    expect(errorOf((await signInAs(ann.email, visitor())).back)).toContain('account_disabled');
    expect(await sessionStatus(own)).toBe(401);
  });

  it('is found if the provider has signed them in before SCIM knew them', async () => {
    const email = freshAddress();
    await signInAs(email);
    const bySubject = await scim.post('/Users', { userName: 'no address', externalId: email, active: false });
    expect(bySubject.status).toBe(201);
    expect(await accountOf(email)).toMatchObject({ disabled: true });

    const other = freshAddress();
    const { visitor: signedIn } = await signInAs(other);
    const person = await provisioned(other);
    expect(await sessionStatus(signedIn)).toBe(200);
    await setActive(person, false);
    expect(await sessionStatus(signedIn)).toBe(401);
  });

  // Ann deletes her account, and signs up again. The provider, which knows her by the same id, then says that she leaves.
  it('whose account is deleted is forgotten here, with name and address, and leaves all the same', async () => {
    const ann = await provisioned();
    const { visitor: signedIn } = await signInAs(ann.email, visitor());
    const gone = await signedIn.post('/auth/delete-account', { email: ann.email });
    expect(gone.status, gone.text).toBe(200);
    const { rows } = await world.pool.query('select user_name, attributes, account_id from scim_users where id = $1', [
      ann.id,
    ]);
    expect(rows).toEqual([{ user_name: ann.id, attributes: {}, account_id: null }]);
    const { visitor: again } = await signInAs(ann.email);
    expect(await sessionStatus(again)).toBe(200);
    await setActive(ann, false);
    expect(await sessionStatus(again)).toBe(401);
    expect(errorOf((await signInAs(ann.email)).back)).toContain('account_disabled');
  });

  // Ann lists the address of Ben among hers, and leaves.
  it('is not found by an address that is neither the user name nor primary, nor by one that several people have', async () => {
    const ben = freshAddress();
    await signInAs(ben);
    const emails = [{ value: ben, type: 'home' }];
    const ann = { email: ben, id: (await scim.post('/Users', { userName: freshAddress(), emails })).json.id };
    await setActive(ann, false);
    expect(await accountOf(ben)).toMatchObject({ disabled: false });

    const shared = freshAddress();
    const both: string[] = [];
    for (const userName of [freshAddress(), freshAddress()])
      both.push((await scim.post('/Users', { userName, emails: [{ value: shared, primary: true }] })).json.id);
    expect(errorOf((await signInAs(shared, visitor())).back)).toContain('sign_up_refused');
    await signInAs(shared);
    for (const id of both) await setActive({ email: shared, id }, false);
    expect(await accountOf(shared)).toMatchObject({ disabled: false });
  });
});

describe('a sign-in beside leaving', () => {
  // The sign-in has checked that the account is enabled. It stores its session before leaving deletes all sessions, or after it.
  it('yields no session, also if the account is enabled again', async () => {
    const ann = await provisioned();
    await signInAs(ann.email, visitor());
    const { visitor: late, finish } = await arrive(ann.email, visitor());
    const held = {
      rows: 'select 1 from auth_user where email = $1 for update',
      values: [ann.email],
      waiting: '',
      count: 2,
    };
    await whileHeld<unknown>(world.pool, held, [finish, () => setActive(ann, false)]);
    expect(await sessionStatus(late)).toBe(401);
    await setActive(ann, true);
    expect(await sessionStatus(late)).toBe(401);
  });

  /** Disables an account. Signs in when its sessions are deleted, and that is not committed yet: others still see an enabled account. */
  const whileDisabling = async (email: string, signsIn: () => Promise<unknown>): Promise<string> => {
    const id = (await accountOf(email))?.id ?? '';
    let signedIn: Promise<unknown> | undefined;
    let isOver = false;
    const held = {
      ...{ rows: 'lock table acts in access exclusive mode', waiting: 'insert into acts' },
      meanwhile: () => {
        signedIn = signsIn().finally(() => {
          isOver = true;
        });
        const waits = `select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query ~ 'auth_(session|user)"'`;
        return until(async () => isOver || (await world.pool.query(waits)).rowCount === 1, 'the sign-in waits');
      },
    };
    await whileHeld(world.pool, held, [() => world.cli(['account', 'disable', id])]);
    await signedIn;
    return id;
  };

  it('that looks before a disabling is committed yields no session, also if the account is enabled again', async () => {
    const ann = await world.verified();
    const late = world.visitor();
    const id = await whileDisabling(ann.email, () => late.post('/auth/sign-in/email', ann));
    expect(await world.cli(['account', 'enable', id])).toMatchObject({ code: 0 });
    expect(await sessionStatus(late)).toBe(401);
  });

  // The provider signs in the holder of the address for the first time. A link that stayed would prove, later, that the account is theirs.
  it('that looks before a disabling is committed leaves no link to the provider', async () => {
    const ann = await world.verified();
    const { finish } = await arrive(ann.email);
    const id = await whileDisabling(ann.email, finish);
    const { rows } = await world.pool.query(
      'select provider_id from auth_account w join accounts a on a.user_id = w.user_id where a.id = $1',
      [id],
    );
    expect(rows).toEqual([{ provider_id: 'credential' }]);
  });

  // SCIM does not know the account yet. The first sign-in finds the person while the person leaves.
  it('for the first time leaves a disabled account, whichever is first', async () => {
    const ann = await provisioned();
    const { visitor: late, finish } = await arrive(ann.email, visitor());
    const held = {
      rows: 'select 1 from scim_users where user_name = $1 for update',
      values: [ann.email],
      waiting: 'select',
      count: 2,
    };
    await whileHeld<unknown>(world.pool, held, [finish, () => setActive(ann, false)]);
    expect(await accountOf(ann.email)).toMatchObject({ disabled: true });
    expect([401, 403]).toContain(await sessionStatus(late));
    expect(errorOf((await signInAs(ann.email, visitor())).back)).toContain('account_disabled');
  });

  // Removing the group reads the account before the first sign-in has found it. Both lock the person first.
  it('for the first time gives no role of a group that is left at the same moment', async () => {
    const ann = await provisioned();
    const group = await scim.post('/Groups', { displayName: 'Engineers', members: [{ value: ann.id }] });
    const { finish } = await arrive(ann.email, visitor());
    const held = {
      rows: 'select 1 from scim_users where user_name = $1 for update',
      values: [ann.email],
      waiting: 'select',
      count: 2,
    };
    const leave = () => scim.patch(`/Groups/${group.json.id}`, { op: 'remove', path: 'members' });
    await whileHeld<unknown>(world.pool, held, [finish, leave]);
    expect(await roleOf(ann.email)).toBeUndefined();
    await scim.delete(`/Groups/${group.json.id}`);
  });
});
