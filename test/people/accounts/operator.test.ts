import { randomUUID } from 'node:crypto';
import { operatorContracts } from '@sotto/contract/control/operator';
import { describe, expect, it } from 'vitest';
import { totpCode } from '../../kit/authenticator.ts';
import { password } from '../../kit/signed-up.ts';
import { confirm, type Enrolled, enrolled, grantOperator, newOperator, owner, show, verified } from './people.ts';
import { sessionStatus, signIn, useWorld, type Visitor } from './world.ts';

let aheadMs = 0;
const world = await useWorld({ now: () => Date.now() + aheadMs, signUp: { mode: 'open', domains: [] } });

const operator = (): Promise<Enrolled> => newOperator(world);
const idOf = async (visitor: Visitor): Promise<string> => (await visitor.get('/account')).json.id;
const invite = (visitor: Visitor) => visitor.post('/operator/invitations', { email: `${randomUUID()}@work.example` });

describe('the role of an operator', () => {
  it('is granted, listed and revoked by the command line, and takes effect at once', async () => {
    const person = await enrolled(world);
    expect((await person.visitor.get('/operator/accounts')).status).toBe(404);
    expect((await person.visitor.get('/account')).json.is_operator).toBe(false);
    await grantOperator(world, person);
    expect((await person.visitor.get('/account')).json.is_operator).toBe(true);
    expect((await person.visitor.get('/operator/accounts')).status).toBe(200);
    expect((await world.cli(['operator', 'list'])).lines.join('\n')).toContain(`${person.email}  since 20`);
    expect((await world.cli(['operator', 'revoke', person.email])).code).toBe(0);
    expect((await person.visitor.get('/operator/accounts')).status).toBe(404);
    expect(await world.cli(['operator', 'revoke', person.email])).toMatchObject({ code: 1 });
    expect((await world.cli(['operator', 'grant', 'nobody@work.example'])).lines[0]).toMatch(
      /has no account; create it/,
    );
  });

  it('is not revealed: every route answers another session as an unknown address does', async () => {
    const stranger = (await verified(world)).visitor;
    const told = ({ status, json }: { status: number; json: { error: object } }) => [
      status,
      { ...json.error, request_id: '' },
    ];
    const unknown = told(await stranger.get('/operator/nothing'));
    const routes = Object.keys(operatorContracts);
    expect(routes.length).toBeGreaterThan(10);
    for (const route of routes) {
      const [method = '', path = ''] = route.split(' ');
      const url = path.slice('/v1'.length).replace('{id}', randomUUID());
      const answer = await stranger.send(method, url, method === 'POST' ? {} : undefined);
      expect([route, answer.status, told(answer)[1]]).toEqual([route, 404, { ...(unknown[1] as object) }]);
    }
  });

  it('acts only within five minutes of a code or a passkey, and not by enrolling an app', async () => {
    const person = await enrolled(world);
    await grantOperator(world, person);
    const { visitor, uri } = person;
    expect((await visitor.get('/operator/sign-up')).status).toBe(200);
    const refused = await invite(visitor);
    expect([refused.status, refused.json.error.type]).toEqual([403, 'session_not_fresh']);
    expect((await visitor.post('/auth/two-factor/verify-totp', { code: '000000' })).status).toBe(401);
    expect((await invite(visitor)).status).toBe(403);
    expect((await visitor.post('/auth/two-factor/verify-totp', { code: totpCode(uri, Date.now()) })).status).toBe(200);
    expect((await invite(visitor)).status).toBe(201);
    aheadMs = 5 * 60_000;
    expect((await invite(visitor)).status).toBe(403);
    expect((await visitor.get('/operator/sign-up')).status).toBe(200);
    aheadMs = 0;

    const holder = await owner(world);
    await grantOperator(world, holder);
    expect((await invite(holder.visitor)).status).toBe(403);
    const { visitor: present } = await show(world, holder.key);
    expect((await invite(present)).status).toBe(201);
  });

  it('is not granted without a second factor, or to an address that nobody has verified', async () => {
    const [plain, unverified] = [await verified(world), await world.signUp()];
    const refused = await world.cli(['operator', 'grant', plain.email]);
    expect(refused).toMatchObject({ code: 1, lines: [expect.stringContaining('has no second factor')] });
    expect(await world.cli(['operator', 'grant', unverified.email])).toMatchObject({
      code: 1,
      lines: [expect.stringContaining('is not verified')],
    });
    expect((await plain.visitor.get('/operator/accounts')).status).toBe(404);
  });

  it('lets nobody add or remove a factor by the password alone', async () => {
    const { visitor, uri, ...person } = await enrolled(world);
    await grantOperator(world, person);
    const changes = () => [
      visitor.post('/auth/two-factor/enable', { password }),
      visitor.post('/auth/two-factor/generate-backup-codes', { password }),
      visitor.get('/auth/passkey/generate-register-options'),
      visitor.post('/auth/two-factor/disable', { password }),
    ];
    await confirm(visitor);
    for (const change of changes()) expect((await change).json.error.type).toBe('session_not_fresh');
    expect((await visitor.post('/auth/two-factor/verify-totp', { code: totpCode(uri, Date.now()) })).status).toBe(200);
    expect((await visitor.get('/auth/passkey/generate-register-options')).status).toBe(200);
    expect((await visitor.post('/auth/two-factor/disable', { password })).status).toBe(200);

    const holder = await owner(world);
    await grantOperator(world, holder);
    const [{ id }] = (await holder.visitor.get('/auth/passkey/list-user-passkeys')).json;
    const removed = await holder.visitor.post('/auth/passkey/delete-passkey', { id });
    expect(removed.json.error.type).toBe('session_not_fresh');
  });

  it('takes thirty codes an hour from a session, however many addresses guess', async () => {
    const guessed = await world.another({ limit: 600 });
    const person = await enrolled(world);
    const visitor = await signInHere(guessed, person.email, person.uri);
    const statuses = [];
    for (let index = 0; index < 31; index += 1)
      statuses.push((await visitor.post('/auth/two-factor/verify-totp', { code: '000000' })).status);
    expect([statuses.slice(0, 30).includes(429), statuses.at(-1)]).toEqual([false, 429]);
  });
});

describe('an operator', () => {
  it('credits an account once for each reference, and the account sees it without the operator', async () => {
    const { visitor } = await operator();
    const customer = await verified(world);
    const id = await idOf(customer.visitor);
    const credit = () => visitor.post(`/operator/accounts/${id}/credit`, { amount_usd: 12.5, reference: `inv ${id}` });
    const credited = await credit();
    expect(credited.json).toMatchObject({ id, email: customer.email, balance_usd: 12.5, state: 'active' });
    expect([(await credit()).status, (await visitor.get(`/operator/accounts/${id}`)).json.balance_usd]).toEqual([
      409, 12.5,
    ]);
    expect((await customer.visitor.get('/account/audit')).json.data).toMatchObject([
      { act: 'account_credited', actor: 'operator', actor_account_id: null, details: { amount_usd: 12.5 } },
    ]);
    const { data } = (await visitor.get(`/operator/audit?account_id=${id}`)).json;
    const operatorId = await idOf(visitor);
    expect(data).toMatchObject([{ act: 'account_credited', actor_account_id: operatorId }]);
    // A filter by actor would tell the account which operator it was.
    const byActor = `actor_account_id=${operatorId}`;
    expect((await customer.visitor.get(`/account/audit?${byActor}`)).json.data).toEqual([]);
    expect((await visitor.get(`/operator/audit?account_id=${id}&${byActor}`)).json.data).toHaveLength(1);
    expect((await visitor.get('/operator/books')).json).toEqual({ is_clean: true, findings: [] });
    for (const amount of [0, -1, 1e-10]) {
      const answer = await visitor.post(`/operator/accounts/${id}/credit`, { amount_usd: amount, reference: 'x' });
      expect(answer.status).toBe(400);
    }
  });

  it('disables an account: sessions, sign-in and keys stop, and come back with the same balance', async () => {
    const { visitor } = await operator();
    const customer = await verified(world);
    const id = await idOf(customer.visitor);
    const { key } = (await customer.visitor.post('/keys', { name: 'x', kind: 'management' })).json;
    const balance = async (): Promise<number> =>
      (await world.visitor().get('/balance', { authorization: `Bearer ${key}` })).status;
    expect(await balance()).toBe(200);
    await visitor.post(`/operator/accounts/${id}/credit`, { amount_usd: 3, reference: id });
    expect((await visitor.post(`/operator/accounts/${id}/disable`)).json).toMatchObject({
      state: 'disabled',
      balance_usd: 3,
    });
    expect([await sessionStatus(customer.visitor), await balance()]).toEqual([401, 401]);
    const refused = await world.visitor().post('/auth/sign-in/email', { email: customer.email, password });
    expect([refused.status, refused.json.error.message]).toEqual([
      403,
      'This account is disabled. Ask the operator of this deployment.',
    ]);
    const wrong = await world
      .visitor()
      .post('/auth/sign-in/email', { email: customer.email, password: 'not it at all' });
    expect(wrong.status).toBe(401);
    expect((await visitor.post(`/operator/accounts/${id}/enable`)).json).toMatchObject({
      state: 'active',
      balance_usd: 3,
    });
    await signIn(customer.visitor, customer);
    expect([await sessionStatus(customer.visitor), await balance()]).toEqual([200, 200]);
    // By the command line, too.
    expect(await world.cli(['account', 'disable', id])).toEqual({ code: 0, lines: [`${id} is disabled`] });
    expect(await balance()).toBe(401);
    const listed = await world.cli(['account', 'list', '--search', customer.email]);
    expect(listed.lines).toEqual([
      `${id}  ${customer.email}  disabled  3 USD, 0 USD paid and 0 USD used this month  never used`,
    ]);
    expect((await world.cli(['account', 'enable', id])).code).toBe(0);
    const own = await idOf(visitor);
    expect((await visitor.post(`/operator/accounts/${own}/disable`)).status).toBe(409);
  });

  it('deletes a person on request, with a fresh code, and whoever asks twice is told', async () => {
    const { visitor } = await operator();
    const customer = await verified(world);
    const id = await idOf(customer.visitor);
    const remove = (email: string, by = visitor) => by.post(`/operator/accounts/${id}/delete`, { email });
    expect((await remove(customer.email, customer.visitor)).status).toBe(404);
    const other = await remove('another@people.example');
    expect([other.status, other.json.error.param]).toEqual([400, 'email']);
    expect(await sessionStatus(customer.visitor)).toBe(200);
    await world.cli(['account', 'credit', id, '20', '--reference', 'left']);
    const deleted = await remove(customer.email.toUpperCase());
    expect([deleted.status, deleted.json]).toEqual([
      200,
      expect.objectContaining({ id, state: 'deleted', email: null, balance_usd: 0 }),
    ]);
    expect(await sessionStatus(customer.visitor)).toBe(401);
    expect((await remove(customer.email)).status).toBe(409);
    expect((await visitor.get(`/operator/audit?account_id=${id}`)).json.data).toMatchObject([
      { act: 'account_deleted', actor: 'operator', actor_account_id: await idOf(visitor) },
      { act: 'workspace_deleted', actor: 'operator' },
      { act: 'account_credited', actor: 'command_line' },
    ]);

    const colleague = await operator();
    const own = await visitor.post(`/operator/accounts/${await idOf(colleague.visitor)}/delete`, {
      email: colleague.email,
    });
    expect([own.status, own.json.error.message]).toEqual([409, expect.stringContaining('operator role')]);
    const { lines } = await world.cli(['account', 'create', '--name', 'program']);
    const program = await visitor.post(`/operator/accounts/${lines[0]}/delete`, { email: 'program@people.example' });
    expect([program.status, program.json.error.message]).toEqual([409, expect.stringContaining('No person')]);
  });

  it('stops the keys that a disabled person made in another workspace', async () => {
    const { visitor } = await operator();
    const [host, guest] = [await verified(world), await verified(world)];
    const { id } = (await host.visitor.post('/workspaces', { name: 'Team' })).json;
    const { token } = (await host.visitor.post(`/workspaces/${id}/invitations`, { email: guest.email, role: 'member' }))
      .json;
    expect((await guest.visitor.post('/invitations/accept', { token })).status).toBe(200);
    const keyOf = async (by: Visitor): Promise<string> =>
      (await by.post('/keys', { name: 'x', kind: 'inference', workspace_id: id })).json.key;
    const [hosts, guests] = [await keyOf(host.visitor), await keyOf(guest.visitor)];
    await visitor.post(`/operator/accounts/${await idOf(guest.visitor)}/disable`);
    // Without a broker there is no catalog, so an accepted key gets 503.
    const statusFor = async (key: string): Promise<number> =>
      (await world.visitor().get('/routing/effective', { authorization: `Bearer ${key}` })).status;
    expect([await statusFor(hosts), await statusFor(guests)]).toEqual([503, 401]);
  });

  it('invites an address, which can then sign up, and withdraws an invitation', async () => {
    const invited = await world.another({ signUp: { mode: 'invited', domains: ['elsewhere.example'] } });
    const { email, uri } = await operator();
    const visitor = await signInHere(invited, email, uri);
    const signUp = (address: string) =>
      invited.visitor().post('/auth/sign-up/email', { name: 'Ann', email: address, password });
    const [one, other] = [`${randomUUID()}@work.example`, `${randomUUID()}@work.example`];
    expect((await signUp(one)).status).toBe(403);
    expect((await visitor.post('/operator/invitations', { email: one })).status).toBe(201);
    const { id } = (await visitor.post('/operator/invitations', { email: other })).json;
    expect((await visitor.get('/operator/sign-up')).json).toMatchObject({
      mode: 'invited',
      domains: ['elsewhere.example'],
    });
    expect((await visitor.send('DELETE', `/operator/invitations/${id}`)).status).toBe(204);
    expect([(await signUp(one)).status, (await signUp(other)).status]).toEqual([200, 403]);
    expect((await visitor.send('DELETE', `/operator/invitations/${id}`)).status).toBe(404);
    expect((await world.cli(['sign-up', 'invite', other])).lines[0]).toContain(`${other} can sign up at`);
    const shown = await world.cli(['sign-up', 'show'], { SIGN_UP: 'invited', SIGN_UP_DOMAINS: 'elsewhere.example' });
    expect(shown.lines.slice(0, 2)).toEqual(['invited', 'domains: elsewhere.example']);
    expect(shown.lines.at(-1)).toMatch(new RegExp(`^invited: ${other}  until `));
    expect((await signUp(other)).status).toBe(200);
  });

  it('sets the monthly grant of an account', async () => {
    const { visitor } = await operator();
    const customer = await verified(world);
    const id = await idOf(customer.visitor);
    const set = (amount: unknown) =>
      visitor.send('PUT', `/operator/accounts/${id}/monthly-grant`, { amount_usd: amount });
    // This deployment sells balance, so accounts get no grant.
    expect((await set(12.5)).json).toMatchObject({ id, monthly_grant: null, balance_usd: 0 });
    expect((await set(null)).status).toBe(200);
    for (const amount of [-1, 1e-10, '5', undefined]) expect((await set(amount)).status).toBe(400);
    expect((await customer.visitor.get('/account/audit')).json.data).toMatchObject([
      { act: 'account_grant_set', actor: 'operator', details: { amount_usd: null } },
      { act: 'account_grant_set', actor: 'operator', details: { amount_usd: 12.5 } },
    ]);
    expect((await customer.visitor.get('/billing/grant')).json).toMatchObject({ amount: 0, spent: 0, next_amount: 0 });
  });

  it('dismisses a rejected settlement', async () => {
    const { visitor } = await operator();
    const id = randomUUID();
    await world.pool.query(
      "insert into rejected_settlements (id, shard, stream_id, reason, payload, mac) values ($1, 1, '1-1', 'bad_mac', '{}', '')",
      [id],
    );
    expect((await visitor.get('/operator/rejected-settlements')).json.data).toMatchObject([
      { id, shard: 1, reason: 'bad_mac', charge_usd: null },
    ]);
    expect((await visitor.get('/operator/books')).json.is_clean).toBe(false);
    const dismiss = () => visitor.post(`/operator/rejected-settlements/${id}/dismiss`, { why: 'a test' });
    expect([(await dismiss()).status, (await dismiss()).status]).toEqual([204, 404]);
    expect((await visitor.get('/operator/books')).json.is_clean).toBe(true);
  });

  it('finds accounts by a part of the address, page by page', async () => {
    const { visitor } = await operator();
    const domain = `${randomUUID()}.example`;
    const people = [];
    for (const name of ['a', 'b', 'c']) people.push((await world.signUp(`${name}@${domain}`)).email);
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const page = (await visitor.get(`/operator/accounts?search=${domain}&limit=2${cursor}`)).json;
      seen.push(...page.data.map(({ email }: { email: string }) => email));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(people.toReversed());
  });
});

describe('the audit log', () => {
  it('is append-only, and has no address or name', async () => {
    const { rowCount } = await world.pool.query('select 1 from acts');
    expect(rowCount).toBeGreaterThan(10);
    for (const statement of ["update acts set act = 'x'", 'delete from acts', 'truncate acts']) {
      await expect(world.pool.query(statement)).rejects.toThrow('acts is append-only');
    }
    const { lines } = await world.cli(['acts', 'list']);
    expect(lines).toHaveLength(rowCount ?? 0);
    expect(lines.join('\n')).toMatch(
      / {2}account_disabled {2}by operator \S+@people\.example {2}account \S+@people\.example {2}\{\}/,
    );
    const { rows } = await world.pool.query<{ row: string }>('select a::text as row from acts a');
    expect(rows.map(({ row }) => row).join('\n')).not.toMatch(/@|Ann|Team/);
  });
});

/** Signs in at another control, by password and code, on a code that was not used yet. */
async function signInHere({ visitor }: { visitor(): Visitor }, email: string, uri: string): Promise<Visitor> {
  const here = visitor();
  expect((await here.post('/auth/sign-in/email', { email, password })).json.twoFactorRedirect).toBe(true);
  const code = totpCode(uri, Date.now() + 30_000);
  expect((await here.post('/auth/two-factor/verify-totp', { code })).status).toBe(200);
  return here;
}
