import { randomUUID } from 'node:crypto';
import { purgeExpired, smtpMail } from '@sotto/control';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openMailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import { signIn, useWorld, type Visitor } from './world.ts';

const world = await useWorld();

const at = (domain: string): string => `${randomUUID()}@${domain}`;
const signUp = (by: { visitor(): Visitor }, email: string) =>
  by.visitor().post('/auth/sign-up/email', { name: 'Ann', email, password });
const exists = async (email: string): Promise<boolean> =>
  (await world.pool.query('select 1 from auth_user where email = $1', [email.toLowerCase()])).rowCount === 1;
const inviteByOperator = (email: string, days = 7) =>
  world.pool.query(
    `insert into sign_up_invitations (id, email, expires_at) values (gen_random_uuid(), $1, now() + $2 * interval '1 day')`,
    [email, days],
  );
const inviteToWorkspace = async (email: string): Promise<void> => {
  const owner = await signIn(world.visitor(), await world.verified());
  const { id } = (await owner.post('/workspaces', { name: 'Team' })).json;
  expect((await owner.post(`/workspaces/${id}/invitations`, { email, role: 'viewer' })).status).toBe(201);
};

describe('by invitation', () => {
  it('admits the addresses that a workspace or an operator invited, and no others', async () => {
    const invited = await world.another({ signUp: { mode: 'invited', domains: [] } });
    expect((await invited.visitor().get('/auth/methods')).json.sign_up).toBe('invited');
    const [byWorkspace, byOperator, late, stranger] = [
      at('a.example'),
      at('b.example'),
      at('c.example'),
      at('d.example'),
    ];
    await inviteToWorkspace(byWorkspace);
    await inviteByOperator(byOperator);
    await inviteByOperator(late, -1);
    for (const email of [byWorkspace, byOperator.toUpperCase()]) {
      const answer = await signUp(invited, email);
      expect([email, answer.status, await exists(email)]).toEqual([email, 200, true]);
    }
    for (const email of [late, stranger]) {
      const answer = await signUp(invited, email);
      expect([answer.status, answer.json.error.type, await exists(email)]).toEqual([403, 'forbidden', false]);
      expect(answer.json.error.message).toMatch(/cannot sign up here.*invitation/);
    }
    // The operator’s invitation is used up.
    const left = await world.pool.query('select 1 from sign_up_invitations where email = $1', [byOperator]);
    expect(left.rowCount).toBe(0);
  });

  it('waits, with mail, until its address is verified: a stranger cannot use it up', async () => {
    const mailbox = await openMailbox();
    const mailer = smtpMail({ url: mailbox.url, from: 'Sotto <no-reply@sotto.example>' });
    const invited = await world.another({ signUp: { mode: 'invited', domains: [] }, mailer });
    const email = at('a.example');
    await inviteByOperator(email);
    expect((await signUp(invited, email)).status).toBe(200);
    // The person who was invited is not refused, but gets a mail that leads in.
    expect((await signUp(invited, email)).status).toBe(200);
    const invitation = async () =>
      (await world.pool.query('select 1 from sign_up_invitations where email = $1', [email])).rowCount;
    await purgeExpired(world.pool, Date.now());
    expect(await invitation()).toBe(1);
    await world.pool.query('update auth_user set email_verified = true where email = $1', [email]);
    await purgeExpired(world.pool, Date.now());
    expect(await invitation()).toBe(0);
    await mailbox.stop();
  });

  it('refuses an address with an account exactly like one without', async () => {
    const invited = await world.another({ signUp: { mode: 'invited', domains: [] } });
    const known = await world.verified();
    const [one, other] = [await signUp(invited, known.email), await signUp(invited, at('a.example'))];
    const told = ({ status, headers, json: { error } }: typeof one) => [
      status,
      [...headers.keys()].sort(),
      { ...error, request_id: '' },
    ];
    expect(told(one)).toEqual(told(other));
    // Those who have an account still sign in.
    await signIn(invited.visitor(), known);
  });
});

describe('by domain', () => {
  it('lets a workspace invite only addresses of the domains, and those that an operator invited', async () => {
    const limited = await world.another({ signUp: { mode: 'invited', domains: ['work.example'] } });
    const owner = await signIn(limited.visitor(), await world.verified());
    const { id } = (await owner.post('/workspaces', { name: 'Team' })).json;
    const invite = (email: string) => owner.post(`/workspaces/${id}/invitations`, { email, role: 'member' });
    // Whether the address has an account makes no difference.
    for (const email of [at('elsewhere.example'), (await world.verified(at('elsewhere.example'))).email]) {
      const refused = await invite(email);
      expect([refused.status, refused.json.error]).toEqual([
        403,
        expect.objectContaining({
          type: 'forbidden',
          param: 'email',
          message: expect.stringMatching(/Ask its operator/),
        }),
      ]);
      expect(refused.json.error.message).toContain(email);
      await inviteByOperator(email);
      expect((await invite(email)).status).toBe(201);
    }
    expect((await invite(at('work.example'))).status).toBe(201);
  });

  it('bounds the address that a person changes to, also if sign-up is closed', async () => {
    const mailbox = await openMailbox();
    onTestFinished(() => mailbox.stop());
    const mailer = smtpMail({ url: mailbox.url, from: 'no-reply@sotto.example' });
    const limited = await world.another({ signUp: { mode: 'closed', domains: ['work.example'] }, mailer });
    const ann = await signIn(limited.visitor(), await world.verified(at('work.example')));
    const change = (newEmail: string) => ann.post('/auth/change-email', { newEmail, password });
    const [outside, inside] = [at('private.example'), at('work.example')];
    const refused = await change(outside);
    expect([refused.status, refused.json.error.message]).toEqual([403, expect.stringContaining(outside)]);
    expect((await change(inside)).status).toBe(200);
    await inviteByOperator(outside);
    expect((await change(outside)).status).toBe(200);
    const { pool } = world;
    const acts = async () => (await pool.query("select account_id from acts where act = 'address_changed'")).rows;
    const before = (await acts()).length;
    const token = await mailbox.token(outside, 'Confirm your new address');
    expect((await ann.post('/auth/verify-email', { token })).status).toBe(200);
    const { rows } = await pool.query(
      'select a.id as account_id from accounts a join auth_user u on u.id = a.user_id where u.email = $1',
      [outside],
    );
    expect((await acts()).slice(before)).toEqual(rows);
  });

  it('also bounds invitations of workspaces, but not those of the operator', async () => {
    const open = await world.another({ signUp: { mode: 'open', domains: ['work.example'] } });
    const [inside, outside, byWorkspace, byOperator] = [
      at('Work.example'),
      at('evil-work.example'),
      at('x.example'),
      at('x.example'),
    ];
    await inviteToWorkspace(byWorkspace);
    await inviteByOperator(byOperator);
    const statuses = [];
    for (const email of [inside, outside, byWorkspace, byOperator]) statuses.push((await signUp(open, email)).status);
    expect(statuses).toEqual([200, 403, 403, 200]);
  });
});

describe('closed', () => {
  it('admits no one, invited or not', async () => {
    const closed = await world.another({ signUp: { mode: 'closed', domains: [] } });
    const email = at('a.example');
    await inviteByOperator(email);
    expect((await signUp(closed, email)).status).toBe(403);
    expect((await closed.visitor().get('/auth/methods')).json.sign_up).toBe('closed');
  });
});

describe('an account from the command line', () => {
  it('is made whatever the policy says, and its person sets a password by the printed and mailed link', async () => {
    const mailbox = await openMailbox();
    const closed = await world.another({ signUp: { mode: 'closed', domains: [] } });
    const email = at('first.example');
    const mail = { SMTP_URL: mailbox.url, MAIL_FROM: 'no-reply@sotto.example' };
    const { code, lines } = await world.cli(['account', 'create', email], mail);
    expect([code, lines[2]]).toEqual([0, `the link was mailed to ${email}`]);
    const token = await mailbox.token(email, 'Your account');
    await mailbox.stop();
    expect(lines[1]).toBe(`set a password within a day: ${world.origin}/reset-password#token=${token}`);
    const set = await closed.visitor().post('/auth/reset-password', { token, newPassword: password });
    expect(set.status, set.text).toBe(200);
    const person = await signIn(closed.visitor(), { email, password });
    expect((await person.get('/auth/get-session')).json.user).toMatchObject({ email, emailVerified: true });
    expect((await person.get('/workspaces')).json.data).toHaveLength(1);
    expect((await closed.visitor().post('/auth/reset-password', { token, newPassword: password })).status).toBe(400);
  });
});
