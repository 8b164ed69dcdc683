import { smtpMail } from '@sotto/control';
import { whileHeld } from '@sotto/test-servers';
import { afterAll, describe, expect, it } from 'vitest';
import { Authenticator } from '../../kit/authenticator.ts';
import { openMailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import { enrolled, halfSignedIn, owner, register, show, verified } from './people.ts';
import { type Person, sessionStatus, signIn, useWorld } from './world.ts';

const mailbox = await openMailbox();
afterAll(() => mailbox.stop());
const world = await useWorld({ mailer: smtpMail({ url: mailbox.url, from: 'Sotto <no-reply@sotto.example>' }) });

async function reset({ email }: Person, newPassword = password): Promise<void> {
  await world.visitor().post('/auth/request-password-reset', { email });
  const token = await mailbox.token(email, 'Set a new password');
  const answer = await world.visitor().post('/auth/reset-password', { token, newPassword });
  expect(answer.status, answer.text).toBe(200);
}

const newPassword = 'another long password';
/** Delays every step that begins a session of a person, after the step has checked their credentials. */
const sessionsOf = ({ email }: Person, meanwhile: () => Promise<void>) => ({
  rows: 'select 1 from auth_user where email = $1 for update',
  values: [email],
  waiting: 'insert into "auth_session"',
  meanwhile,
});

/** Sets a person's password by mail while a sign-in step is delayed. Expects that this step is then refused. */
async function expectRefused(person: Person, step: () => Promise<{ readonly status: number }>): Promise<void> {
  const meanwhile = sessionsOf(person, () => reset(person, newPassword));
  const [answer] = await whileHeld(world.pool, meanwhile, [step]);
  expect(answer?.status).toBe(401);
}

// A thief with a session makes a permission to withdraw credits. It needs no session, and would outlast the new password.
it('a new password by mail ends the permission to withdraw credits', async () => {
  const ann = await verified(world);
  await world.pool.query(
    `insert into credit_codes (account_id, code_hash, expires_at, lots)
     select a.id, 'x', now() + interval '1 day', 5 from accounts a join auth_user u on u.id = a.user_id where u.email = $1`,
    [ann.email],
  );
  await reset(ann, newPassword);
  expect((await world.pool.query('select from credit_codes')).rowCount).toBe(0);
});

// Without mail, a stranger can use an account under the address of another. Alerts tell names, addresses and sums.
it('a new password of an address that was never verified removes the webhooks of a stranger', async () => {
  const ann = await verified(world);
  const [{ id }] = (await ann.visitor.get('/workspaces')).json.data;
  const path = `/workspaces/${id}/webhook`;
  expect((await ann.visitor.send('PUT', path, { url: 'https://stranger.example/' })).status).toBe(200);
  await world.pool.query('update auth_user set email_verified = false where email = $1', [ann.email]);
  await reset(ann, newPassword);
  const owner = await signIn(world.visitor(), { email: ann.email, password: newPassword });
  expect((await owner.get(path)).json).toEqual({ webhook: null });
  const acts = (await owner.get(`/workspaces/${id}/audit`)).json.data;
  expect(acts.map(({ act }: { act: string }) => act)).toContain('webhook_removed');
});

describe('a sign-in that began before a password is set', () => {
  it('with the old password yields no session', async () => {
    const ann = await verified(world);
    const thief = world.visitor();
    await expectRefused(ann, () => thief.post('/auth/sign-in/email', ann));
    expect(thief.cookies.has('sotto.session_token')).toBe(false);
    const { rows } = await world.pool.query(
      'select 1 from auth_session s join auth_user u on u.id = s.user_id where u.email = $1',
      [ann.email],
    );
    expect(rows).toEqual([]);
    await signIn(world.visitor(), { email: ann.email, password: newPassword });
  });

  it('that waits for its second step yields no session', async () => {
    const ann = await enrolled(world);
    const thief = await halfSignedIn(world, ann);
    const code = ann.backupCodes[0];
    await expectRefused(ann, () => thief.post('/auth/two-factor/verify-backup-code', { code }));
    expect(await sessionStatus(thief)).toBe(401);
  });

  it('with the old password has no second step afterwards', async () => {
    const ann = await enrolled(world);
    const thief = world.visitor();
    await expectRefused(ann, () => thief.post('/auth/sign-in/email', ann));
    const late = await thief.post('/auth/two-factor/verify-backup-code', { code: ann.backupCodes[0] });
    expect(late.status).toBe(401);
  });

  it('by a link with the old password yields no session', async () => {
    const person = await world.signUp();
    const token = await mailbox.token(person.email, 'Confirm your address');
    const visitor = world.visitor();
    const [answer] = await whileHeld(
      world.pool,
      {
        ...sessionsOf(person, async () => {
          await world.pool.query(
            `update auth_account a set password = 'another' from auth_user u where u.id = a.user_id and u.email = $1`,
            [person.email],
          );
        }),
        waiting: 'update "auth_user"',
      },
      [() => visitor.post('/auth/verify-email', { token, password })],
    );
    expect(answer?.status).toBe(401);
    expect(await sessionStatus(visitor)).toBe(401);
  });

  it('that changes the password itself does not overwrite the new one', async () => {
    const ann = await verified(world);
    const account = 'auth_account where user_id = (select id from auth_user where email = $1)';
    const [answer] = await whileHeld(
      world.pool,
      {
        rows: `select 1 from ${account} for update`,
        values: [ann.email],
        waiting: 'update "auth_account"',
        meanwhile: (holder) =>
          holder.query(`update ${account.replace(' where', ' set password = $2 where')}`, [ann.email, 'x']),
      },
      [() => ann.visitor.post('/auth/change-password', { currentPassword: password, newPassword: 'password of eve' })],
    );
    expect(answer?.status).toBe(401);
    expect((await world.pool.query(`select password from ${account}`, [ann.email])).rows).toEqual([{ password: 'x' }]);
  });

  it('that has changed the password itself yields no session', async () => {
    const ann = await verified(world);
    const body = { currentPassword: password, newPassword: 'password of eve', revokeOtherSessions: true };
    const [answer] = await whileHeld(
      world.pool,
      sessionsOf(ann, () => reset(ann, newPassword)),
      [() => ann.visitor.post('/auth/change-password', body)],
    );
    expect(answer?.status).toBe(401);
    expect(await sessionStatus(ann.visitor)).toBe(401);
    await signIn(world.visitor(), { email: ann.email, password: newPassword });
  });

  it('with a passkey continues, because passkeys stay', async () => {
    const ann = await owner(world);
    const visitor = world.visitor();
    const options = await visitor.get('/auth/passkey/generate-authenticate-options');
    expect(options.status).toBe(200);
    const response = ann.key.assert(options.json.challenge, { origin: world.origin, rpId: 'localhost' });
    await reset(ann, newPassword);
    expect((await visitor.post('/auth/passkey/verify-authentication', { response })).status).toBe(200);
  });
});

describe('a password that is set by mail', () => {
  it('leaves the passkeys, and tells their owner by mail and on the page how many there are', async () => {
    const ann = await owner(world);
    expect((await register(world, ann.visitor, new Authenticator())).status).toBe(200);
    expect((await ann.visitor.get('/auth/passkey/review')).json).toEqual({ resetAt: null });
    await reset(ann);
    expect(await sessionStatus(ann.visitor)).toBe(401);
    const { text } = await mailbox.newest(ann.email, 'Your password was changed');
    expect(text).toContain('2 passkeys of before can still sign in');
    expect(text).toContain(`${world.origin}/account`);

    const { visitor, answer } = await show(world, ann.key);
    expect(answer.status, answer.text).toBe(200);
    const { resetAt } = (await visitor.get('/auth/passkey/review')).json;
    expect(Math.abs(Date.parse(resetAt) - Date.now())).toBeLessThan(60_000);
    for (const { createdAt } of (await visitor.get('/auth/passkey/list-user-passkeys')).json) {
      expect(Date.parse(createdAt)).toBeLessThan(Date.parse(resetAt));
    }
    expect((await visitor.post('/auth/passkey/reviewed')).status).toBe(200);
    expect((await visitor.get('/auth/passkey/review')).json).toEqual({ resetAt: null });
  });

  it('does not mention passkeys if there are none', async () => {
    const ann = await verified(world);
    await reset(ann);
    expect((await mailbox.newest(ann.email, 'Your password was changed')).text).not.toContain('passkey');
    const visitor = await signIn(world.visitor(), ann);
    expect((await visitor.get('/auth/passkey/review')).json).toEqual({ resetAt: null });
    expect((await world.visitor().get('/auth/passkey/review')).status).toBe(401);
  });
});

describe('an account without a password', () => {
  it('changes its address only in the first minutes of a session, because a stolen cookie is rarely that new', async () => {
    const ann = await owner(world);
    await world.pool.query(
      'update auth_account a set password = null from auth_user u where u.id = a.user_id and u.email = $1',
      [ann.email],
    );
    const { visitor } = await show(world, ann.key);
    const change = { newEmail: 'elsewhere@people.example' };
    expect((await visitor.post('/auth/change-email', change)).status).toBe(200);
    await world.pool.query("update auth_session set created_at = now() - interval '6 minutes'");
    const late = await visitor.post('/auth/change-email', change);
    expect([late.status, late.json.error.type]).toEqual([403, 'session_not_fresh']);
  });
});
