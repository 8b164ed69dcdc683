import { smtpMail } from '@sotto/control';
import { until, whileHeld } from '@sotto/test-servers';
import { afterAll, describe, expect, it } from 'vitest';
import { Authenticator } from '../../kit/authenticator.ts';
import { openMailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import { freshAddress, useProvider } from './by-provider.ts';
import { registration, show } from './people.ts';
import { sessionStatus, signIn, type Visitor } from './world.ts';

const mailbox = await openMailbox();
afterAll(() => mailbox.stop());
const mailer = smtpMail({ url: mailbox.url, from: 'Sotto <no-reply@sotto.example>' });
// Passwords are on in the first control, and off in the second, on the same database.
const { world, openid, signInAs } = await useProvider({ mailer });
const strict = await world.another({ mailer, openid, origin: world.origin, hasPasswords: false });
const another = 'another long password';

describe('a person who signs in only with the provider', () => {
  it('gets no password by mail, and is told how to sign in', async () => {
    const email = freshAddress();
    await signInAs(email);
    const asked = await world.visitor().post('/auth/request-password-reset', { email });
    expect(asked.status).toBe(200);
    const { text } = await mailbox.newest(email, 'Your account has no password');
    expect(text).toContain('Example Inc');
    expect(text).not.toContain('token=');
    // The answer is that of every address.
    const stranger = await world.visitor().post('/auth/request-password-reset', { email: freshAddress() });
    expect(stranger.json).toEqual(asked.json);
  });

  it('gets one if the operator gives a link', async () => {
    const email = freshAddress();
    await signInAs(email);
    const { lines } = await world.cli(['account', 'link', email]);
    const token = /#token=(\S+)/.exec(lines.join('\n'))?.[1];
    expect((await world.visitor().post('/auth/reset-password', { token, newPassword: another })).status).toBe(200);
    await signIn(world.visitor(), { email, password: another });
    // From then on, the person has a password, and can reset it.
    await world.visitor().post('/auth/request-password-reset', { email });
    await mailbox.token(email, 'Set a new password');
  });
});

describe('with passwords off', () => {
  it('refuses each request that takes, checks or sets one, also of people who have one', async () => {
    const ann = await world.verified();
    const { visitor } = await signInAs(ann.email, strict.visitor());
    expect(await sessionStatus(visitor)).toBe(200);
    await world.visitor().post('/auth/request-password-reset', { email: ann.email });
    const token = await mailbox.token(ann.email, 'Set a new password');
    const requests: readonly [string, object][] = [
      ['sign-up/email', { name: 'Ben', email: freshAddress(), password }],
      ['sign-in/email', ann],
      ['request-password-reset', { email: ann.email }],
      ['reset-password', { token, newPassword: another }],
      ['change-password', { currentPassword: password, newPassword: another }],
      ['confirm-password', { password }],
      ['two-factor/enable', { password }],
      ['two-factor/disable', { password }],
      ['two-factor/generate-backup-codes', { password }],
    ];
    for (const [path, body] of requests) {
      const answer = await visitor.post(`/auth/${path}`, body);
      expect([path, answer.status, answer.json.error?.type]).toEqual([path, 403, 'forbidden']);
      expect(answer.json.error.message).toContain('Example Inc');
    }
    // The password of before is as it was.
    await signIn(world.visitor(), ann);
  });

  it('ends the sessions that the provider did not begin, when control starts', async () => {
    const ann = await world.verified();
    const byPassword = await signIn(world.visitor(), ann);
    const { visitor } = await signInAs(freshAddress(), strict.visitor());
    await world.pool.query("update auth_session set created_at = now() - interval '2 minutes'");
    await world.another({ mailer, openid, origin: world.origin, hasPasswords: false });
    await until(async () => (await sessionStatus(byPassword)) === 401, 'the session has ended');
    expect(await sessionStatus(visitor)).toBe(200);
  });

  it('tells pages that neither a password nor a passkey signs in', async () => {
    expect((await strict.visitor().get('/auth/methods')).json).toMatchObject({
      ...{ password: false, passkey: false, openid: { name: 'Example Inc' } },
    });
  });

  it('begins no session by a half-finished sign-in or by a link in a mail', async () => {
    const person = await world.signUp();
    const token = await mailbox.token(person.email, 'Confirm your address');
    const visitor = strict.visitor();
    expect((await visitor.post('/auth/verify-email', { token, password })).status).not.toBe(200);
    expect(await sessionStatus(visitor)).toBe(401);
  });

  it('lets a password of before prove nothing: what asks for it asks for a fresh sign-in', async () => {
    const ann = await world.verified();
    const { visitor } = await signInAs(ann.email, strict.visitor());
    const change = { newEmail: freshAddress() };
    expect((await visitor.post('/auth/change-email', change)).status).toBe(200);
    await world.pool.query(
      `update auth_session set created_at = now() - interval '1 hour' where user_id = (select id from auth_user where email = $1)`,
      [ann.email],
    );
    const stale = await visitor.post('/auth/change-email', { ...change, password });
    expect([stale.status, stale.json.error.type]).toEqual([403, 'session_not_fresh']);
    expect((await visitor.get('/auth/list-accounts')).json).toMatchObject([{ providerId: 'openid' }]);
  });

  it('takes a passkey only as the second factor of the person who is signed in', async () => {
    const [ann, ben] = [freshAddress(), freshAddress()];
    const { visitor } = await signInAs(ann, strict.visitor());
    const key = new Authenticator();
    const added = await visitor.post('/auth/passkey/verify-registration', await registration(world, visitor, key));
    expect(added.status, added.text).toBe(200);
    const shownBy = async (who: Visitor) => (await show(world, key, {}, who)).answer.status;
    const stranger = strict.visitor();
    expect(await shownBy(stranger)).not.toBe(200);
    expect(await sessionStatus(stranger)).toBe(401);
    const other = (await signInAs(ben, strict.visitor())).visitor;
    expect(await shownBy(other)).not.toBe(200);
    expect((await other.get('/auth/get-session')).json.user.email).toBe(ben);

    expect((await world.cli(['operator', 'grant', ann])).code).toBe(0);
    const invite = async () => (await visitor.post('/operator/invitations', { email: freshAddress() })).status;
    expect(await invite()).toBe(403);
    expect(await shownBy(visitor)).toBe(200);
    expect(await invite()).toBe(201);
  });

  // The session has ended after the passkey was checked, and before the session that renews it is stored.
  it('renews no session that has ended meanwhile', async () => {
    const ann = freshAddress();
    const { visitor } = await signInAs(ann, strict.visitor());
    const key = new Authenticator();
    await visitor.post('/auth/passkey/verify-registration', await registration(world, visitor, key));
    const user = 'auth_user where email = $1';
    const held = {
      ...{ rows: `select 1 from ${user} for update`, values: [ann], waiting: 'insert into "auth_session"' },
      meanwhile: () => world.pool.query(`delete from auth_session where user_id = (select id from ${user})`, [ann]),
    };
    const [answer] = await whileHeld(world.pool, held, [async () => (await show(world, key, {}, visitor)).answer]);
    expect(answer?.status, answer?.text).toBe(403);
    const { rows } = await world.pool.query(`select from auth_session where user_id = (select id from ${user})`, [ann]);
    expect(rows).toEqual([]);
  });

  it('has a way back for the operator: passwords on, and a link by the command line', async () => {
    const { lines: refused, code } = await world.cli(['account', 'link', freshAddress()], { SIGN_IN_PASSWORD: 'off' });
    expect(code).toBe(1);
    expect(refused.join('\n')).toContain('OIDC_ISSUER is not set');
    const environment = {
      ...{ SIGN_IN_PASSWORD: 'off', OIDC_ISSUER: openid.issuer, OIDC_CLIENT_ID: 'sotto' },
      ...{ OIDC_CLIENT_SECRET: 'a client secret', OIDC_NAME: 'Example Inc' },
    };
    const email = freshAddress();
    const made = await world.cli(['account', 'create', email], environment);
    expect([made.code, made.lines.join('\n')]).toEqual([0, expect.stringContaining('sign in with Example Inc')]);
    const link = await world.cli(['account', 'link', email], environment);
    expect([link.code, link.lines.join('\n')]).toEqual([1, expect.stringContaining('SIGN_IN_PASSWORD')]);
    // The provider signs in to the account that the operator created, because the operator vouched for the address.
    const { visitor } = await signInAs(email, strict.visitor());
    expect(await sessionStatus(visitor)).toBe(200);

    const restored = await world.cli(['account', 'link', email]);
    const token = /#token=(\S+)/.exec(restored.lines.join('\n'))?.[1];
    expect((await world.visitor().post('/auth/reset-password', { token, newPassword: another })).status).toBe(200);
    await signIn(world.visitor(), { email, password: another });
  });
});
