import { randomUUID } from 'node:crypto';
import { smtpMail } from '@sotto/control';
import { afterAll, describe, expect, it } from 'vitest';
import { openMailbox } from '../../kit/mailbox.ts';
import { until } from '../../kit/service.ts';
import { password } from '../../kit/signed-up.ts';
import { sessionStatus, signIn, useWorld } from './world.ts';

let later = 0;
const fresh = () => `${randomUUID()}@people.example`;

const mailbox = await openMailbox();
afterAll(() => mailbox.stop());
const world = await useWorld({
  mailer: smtpMail({ url: mailbox.url, from: 'Sotto <no-reply@sotto.example>' }),
  now: () => Date.now() + later,
});

const verified = async (email = fresh()) => {
  const person = await world.signUp(email);
  const visitor = world.visitor();
  const token = await mailbox.token(email, 'Confirm your address');
  expect((await visitor.post('/auth/verify-email', { token, password })).status).toBe(200);
  return { ...person, visitor };
};

describe('verifying an address', () => {
  it('comes before the first sign-in if mail is sent, and signs in by itself', async () => {
    const person = await world.signUp();
    const visitor = world.visitor();
    const refused = await visitor.post('/auth/sign-in/email', person);
    expect([refused.status, refused.json.error.type]).toEqual([403, 'email_not_verified']);
    expect(visitor.cookies.size).toBe(0);

    const { from, subject, text } = await mailbox.newest(person.email, 'Confirm your address');
    expect(from).toBe('no-reply@sotto.example');
    // The subject names the service, because people have accounts at many.
    expect(subject).toBe(`Confirm your address (${new URL(world.origin).host})`);
    expect(text).toContain(`${world.origin}/verify-email#token=`);
    const token = await mailbox.token(person.email, 'Confirm your address');
    const done = await visitor.post('/auth/verify-email', { token, password });
    expect([done.status, done.json.signedIn, done.json.user.emailVerified]).toEqual([200, true, true]);
    expect(await sessionStatus(visitor)).toBe(200);
    expect([...(await signIn(world.visitor(), person)).cookies.keys()]).toContain('sotto.session_token');
  });

  it('accepts a link once, for an hour, and no other', async () => {
    const { email } = await world.signUp();
    const token = await mailbox.token(email, 'Confirm your address');
    later = 3_600_001;
    expect((await world.visitor().post('/auth/verify-email', { token, password })).status).toBe(400);
    later = 0;
    for (const wrong of ['', 'x'.repeat(43), `${token}x`, token.toLowerCase()]) {
      expect((await world.visitor().post('/auth/verify-email', { token: wrong, password })).status).toBe(400);
    }
    const both = await Promise.all([0, 1].map(() => world.visitor().post('/auth/verify-email', { token, password })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect((await world.visitor().get(`/auth/verify-email?token=${token}`)).status).not.toBe(200);
  });

  it('sends further links, of which at most five are valid at a time', async () => {
    const { email } = await world.signUp();
    const first = await mailbox.token(email, 'Confirm your address');
    for (let asked = 0; asked < 5; asked += 1) await world.visitor().post('/auth/sign-in/email', { email, password });
    await until(async () => mailbox.countTo(email) >= 5, 'five mails');
    const resent = await world.visitor().post('/auth/send-verification-email', { email });
    expect(resent.status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(mailbox.countTo(email)).toBe(5);
    expect((await world.visitor().post('/auth/verify-email', { token: first, password })).status).toBe(200);
  });
});

describe("a person who signs up with another person's address", () => {
  it('gets in neither when its owner follows the link, nor after the owner has set a password', async () => {
    const email = fresh();
    const thief = { email, password: 'the password of the thief' };
    expect((await world.visitor().post('/auth/sign-up/email', { name: 'Eve', ...thief })).status).toBe(200);
    const token = await mailbox.token(email, 'Confirm your address');

    // The owner signs up too. That only sends another link.
    expect((await world.visitor().post('/auth/sign-up/email', { name: 'Ann', email, password })).status).toBe(200);
    const owner = world.visitor();
    for (const shown of [{ token, password }, { token }]) {
      const answer = await owner.post('/auth/verify-email', shown);
      expect([answer.status, answer.json.error.type]).toEqual([401, 'unauthenticated']);
    }
    expect((await world.visitor().post('/auth/sign-in/email', thief)).status).toBe(403);

    expect((await owner.post('/auth/request-password-reset', { email })).status).toBe(200);
    const reset = await mailbox.token(email, 'Set a new password');
    expect((await owner.post('/auth/reset-password', { token: reset, newPassword: password })).status).toBe(200);
    expect((await world.visitor().post('/auth/sign-in/email', thief)).status).toBe(401);
    await signIn(owner, { email, password });
    expect((await owner.get('/auth/get-session')).json.user.emailVerified).toBe(true);
    // The links that the thief requested are void.
    expect((await world.visitor().post('/auth/verify-email', { token, password })).status).toBe(400);
  });

  it('keeps no session, key, member or invitation of the account', async () => {
    // Resembles a deployment that did not send mail yet, where people sign in without a verified address.
    const lax = await world.another({ mailer: { how: 'printed', send: async () => {}, close: () => {} } });
    const email = fresh();
    const thief = lax.visitor();
    expect((await thief.post('/auth/sign-up/email', { name: 'Eve', email, password: 'password of eve' })).status).toBe(
      200,
    );
    await signIn(thief, { email, password: 'password of eve' });
    const { id } = (await thief.get('/workspaces')).json.data[0];
    const key = await thief.post('/keys', { name: 'x', kind: 'management' });
    expect(key.status).toBe(201);
    const other = await verified();
    const offer = await thief.post(`/workspaces/${id}/invitations`, { email: other.email, role: 'admin' });
    expect((await other.visitor.post('/invitations/accept', { token: offer.json.token })).status).toBe(200);
    await thief.post(`/workspaces/${id}/invitations`, { email: fresh(), role: 'admin' });
    // As an admin of another person's workspace, they invited their own second address.
    const theirs = (await other.visitor.post('/workspaces', { name: 'Theirs' })).json.id;
    const place = await other.visitor.post(`/workspaces/${theirs}/invitations`, { email, role: 'admin' });
    expect((await thief.post('/invitations/accept', { token: place.json.token })).status).toBe(200);
    const backDoor = await verified();
    const back = await thief.post(`/workspaces/${theirs}/invitations`, { email: backDoor.email, role: 'admin' });
    expect(back.status).toBe(201);
    // A person with an unverified address must not add other ways to sign in.
    for (const [method, path] of [
      ['POST', '/auth/two-factor/enable'],
      ['GET', '/auth/passkey/generate-register-options'],
    ] as const) {
      const body = method === 'POST' ? { password: 'password of eve' } : undefined;
      const refused = await thief.send(method, path, body);
      expect([path, refused.status, refused.json.error.type]).toEqual([path, 403, 'email_not_verified']);
    }
    const bearer = { authorization: `Bearer ${key.json.key}` };
    expect((await world.visitor().get('/balance', bearer)).status).toBe(200);

    const owner = world.visitor();
    await owner.post('/auth/request-password-reset', { email });
    const token = await mailbox.token(email, 'Set a new password');
    expect((await owner.post('/auth/reset-password', { token, newPassword: password })).status).toBe(200);

    expect(await sessionStatus(thief)).toBe(401);
    expect((await world.visitor().get('/balance', bearer)).status).toBe(401);
    expect((await other.visitor.get(`/workspaces/${id}/members`)).status).toBe(404);
    expect((await backDoor.visitor.post('/invitations/accept', { token: back.json.token })).status).toBe(404);
    expect((await other.visitor.get(`/workspaces/${theirs}/members`)).json.data).toHaveLength(1);
    await signIn(owner, { email, password });
    expect((await owner.get(`/workspaces/${id}/invitations`)).json.data).toEqual([]);
    expect((await owner.get(`/workspaces/${id}/members`)).json.data).toHaveLength(1);
  });
});

describe('a forgotten password', () => {
  it('is replaced by a link, once, which ends every session and voids the other links', async () => {
    const ann = await verified();
    const elsewhere = await signIn(world.visitor(), ann);
    await world.visitor().post('/auth/request-password-reset', { email: ann.email });
    const first = await mailbox.token(ann.email, 'Set a new password');
    await world.visitor().post('/auth/request-password-reset', { email: ann.email });
    await until(
      async () => (await mailbox.token(ann.email, 'Set a new password')) !== first,
      'the second link is there',
    );
    const second = await mailbox.token(ann.email, 'Set a new password');

    const newPassword = 'staple battery horse';
    const short = await world.visitor().post('/auth/reset-password', { token: first, newPassword: 'short' });
    expect([short.status, short.json.error.type]).toEqual([400, 'invalid_request']);
    expect((await world.visitor().post('/auth/reset-password', { token: first, newPassword })).status).toBe(200);
    expect([await sessionStatus(ann.visitor), await sessionStatus(elsewhere)]).toEqual([401, 401]);
    for (const token of [first, second]) {
      expect((await world.visitor().post('/auth/reset-password', { token, newPassword: 'yet another' })).status).toBe(
        400,
      );
    }
    expect((await world.visitor().post('/auth/sign-in/email', ann)).status).toBe(401);
    await signIn(world.visitor(), { email: ann.email, password: newPassword });
    await mailbox.newest(ann.email, 'Your password was changed');
  });

  it('expires', async () => {
    const ann = await verified();
    await world.visitor().post('/auth/request-password-reset', { email: ann.email });
    const token = await mailbox.token(ann.email, 'Set a new password');
    await world.pool.query("update auth_verification set expires_at = now() - interval '1 second'");
    expect((await world.visitor().post('/auth/reset-password', { token, newPassword: password })).status).toBe(400);
  });

  it('is requested in the same way, and takes the same time, whether the account exists or not', async () => {
    const ann = await verified();
    const ask = async (email: string) => {
      const startedAt = performance.now();
      const { status, text } = await world.visitor().post('/auth/request-password-reset', { email });
      return { status, text, tookMs: performance.now() - startedAt };
    };
    const fastest = { known: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    const told = { known: new Set<string>(), unknown: new Set<string>() };
    // A busy machine needs more rounds. A real difference shows in every round.
    await until(async () => {
      const [known, unknown] = [await ask(ann.email), await ask(fresh())];
      told.known.add(`${known.status} ${known.text}`);
      told.unknown.add(`${unknown.status} ${unknown.text}`);
      fastest.known = Math.min(fastest.known, known.tookMs);
      fastest.unknown = Math.min(fastest.unknown, unknown.tookMs);
      return Math.abs(fastest.known - fastest.unknown) < 100;
    }, 'both take the same time');
    expect([...told.unknown]).toEqual([...told.known]);
    for (const tookMs of Object.values(fastest)) expect(tookMs).toBeGreaterThanOrEqual(245);
    const [links, asked] = [await ask(ann.email), await world.visitor().get('/auth/reset-password/x?callbackURL=/')];
    expect([links.status, asked.status]).toEqual([200, 404]);
  });

  it('cannot be replaced in a deployment without mail, which says so', async () => {
    const mute = await world.another({ mailer: undefined });
    expect((await mute.visitor().get('/auth/methods')).json).toEqual({
      password: true,
      passkey: true,
      openid: null,
      mail: 'none',
      sign_up: 'open',
    });
    for (const path of ['/auth/request-password-reset', '/auth/send-verification-email']) {
      const answer = await mute.visitor().post(path, { email: fresh() });
      expect(answer.status).toBe(400);
      expect(answer.json.error.message).toMatch(/sends no mail/);
    }
    const visitor = mute.visitor();
    const email = fresh();
    await visitor.post('/auth/sign-up/email', { name: 'Ann', email, password });
    await signIn(visitor, { email, password });
    expect((await visitor.get('/auth/get-session')).json.user.emailVerified).toBe(false);
  });
});

describe('changing the credentials of an account', () => {
  it('accepts a new address once it is verified, informs the old one, and voids the links mailed there', async () => {
    const ann = await verified();
    await world.visitor().post('/auth/request-password-reset', { email: ann.email });
    const stale = await mailbox.token(ann.email, 'Set a new password');
    const newEmail = fresh();
    const wrong = await ann.visitor.post('/auth/change-email', { newEmail, password: 'not it' });
    expect([wrong.status, mailbox.countTo(newEmail)]).toEqual([400, 0]);
    expect((await ann.visitor.post('/auth/change-email', { newEmail, password })).status).toBe(200);
    expect((await ann.visitor.get('/auth/get-session')).json.user.email).toBe(ann.email);

    const token = await mailbox.token(newEmail, 'Confirm your new address');
    const stranger = world.visitor();
    expect((await stranger.post('/auth/verify-email', { token })).status).toBe(401);
    expect((await ann.visitor.post('/auth/verify-email', { token })).status).toBe(200);
    expect((await ann.visitor.get('/auth/get-session')).json.user).toMatchObject({
      email: newEmail,
      emailVerified: true,
    });
    expect((await mailbox.newest(ann.email, 'another address')).text).toContain(ann.email);
    expect((await stranger.post('/auth/reset-password', { token: stale, newPassword: password })).status).toBe(400);
    expect((await stranger.post('/auth/sign-in/email', ann)).status).toBe(401);
    await signIn(stranger, { email: newEmail, password });
  });

  it('does not reveal whether an address has an account, and does not accept one that has', async () => {
    const [ann, ben] = [await verified(), await verified()];
    const answers = [];
    for (const newEmail of [ben.email, fresh()])
      answers.push(await ann.visitor.post('/auth/change-email', { newEmail, password }));
    expect(answers[0]?.text).toBe(answers[1]?.text);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(mailbox.received.filter((mail) => mail.to === ben.email && /new address/.test(mail.subject))).toEqual([]);
    // Another account takes the address between the mail and the link.
    const newEmail = fresh();
    await ann.visitor.post('/auth/change-email', { newEmail, password });
    const token = await mailbox.token(newEmail, 'Confirm your new address');
    await world.signUp(newEmail);
    expect((await ann.visitor.post('/auth/verify-email', { token })).status).toBe(400);
    expect((await ann.visitor.get('/auth/get-session')).json.user.email).toBe(ann.email);
  });

  it('accepts a new password with the old one, and can end the other sessions', async () => {
    const ann = await verified();
    const elsewhere = await signIn(world.visitor(), ann);
    const newPassword = 'staple battery horse';
    const wrong = await ann.visitor.post('/auth/change-password', { currentPassword: 'not it', newPassword });
    expect(wrong.status).toBe(400);
    const body = { currentPassword: password, newPassword, revokeOtherSessions: true };
    expect((await ann.visitor.post('/auth/change-password', body)).status).toBe(200);
    expect([await sessionStatus(ann.visitor), await sessionStatus(elsewhere)]).toEqual([200, 401]);
    await mailbox.newest(ann.email, 'Your password was changed');
  });

  it('accepts a name, and nothing else, from its owner', async () => {
    const ann = await verified();
    expect((await ann.visitor.post('/auth/update-user', { name: 'Ann Other' })).status).toBe(200);
    expect((await ann.visitor.get('/auth/get-session')).json.user.name).toBe('Ann Other');
    for (const body of [
      { emailVerified: true },
      { name: 'x', email: fresh() },
      { name: 'x', image: 'https://x.example/y' },
      { name: 'a\0b' },
    ]) {
      expect((await ann.visitor.post('/auth/update-user', body)).status).toBe(400);
    }
  });
});

describe('a mail server', () => {
  it('that says "later" is tried again; one that says "never" is not, and no request waits or fails', async () => {
    const quick = smtpMail({ url: mailbox.url, from: 'no-reply@sotto.example' }, [10, 10, 10]);
    const patient = await world.another({ mailer: quick });
    const [email, lost] = [fresh(), fresh()];
    mailbox.refuse(450, 421);
    expect((await patient.visitor().post('/auth/sign-up/email', { name: 'Ann', email, password })).status).toBe(200);
    await mailbox.newest(email, 'Confirm your address');
    mailbox.refuse(550);
    const signedUp = await patient.visitor().post('/auth/sign-up/email', { name: 'Ann', email: lost, password });
    expect(signedUp.status).toBe(200);
    await until(async () => /"task":"mail"/.test(world.logs()), 'the failure is logged');
    expect(mailbox.countTo(lost)).toBe(0);
    expect(world.logs()).not.toContain('@people.example');
  });

  it('that cannot be reached fails no request', async () => {
    const dead = smtpMail({ url: 'smtp://127.0.0.1:1', from: 'no-reply@sotto.example' }, [10]);
    await expect(dead.send({ to: fresh(), subject: 'x', text: 'x' })).rejects.toThrow();
    const cut = await world.another({ mailer: dead });
    const answer = await cut.visitor().post('/auth/sign-up/email', { name: 'Ann', email: fresh(), password });
    expect(answer.status).toBe(200);
  });

  it('that offers no TLS receives nothing, unless it is on this machine', async () => {
    const foreign = await openMailbox('127.0.0.2');
    const mailer = smtpMail({ url: foreign.url, from: 'no-reply@sotto.example' }, []);
    await expect(mailer.send({ to: fresh(), subject: 'x', text: 'x' })).rejects.toThrow(/STARTTLS|TLS/);
    expect(foreign.received).toEqual([]);
    await foreign.stop();
  });

  it('is given one recipient, whatever an address looks like', async () => {
    const mailer = smtpMail({ url: mailbox.url, from: 'no-reply@sotto.example' }, []);
    const before = mailbox.received.length;
    await mailer
      .send({ to: 'a@people.example, b@people.example', subject: 'x\r\nBcc: c@people.example', text: 'x' })
      .catch(() => {});
    const sent = mailbox.received.slice(before).flatMap(({ to }) => to.split(','));
    expect(sent.length).toBeLessThanOrEqual(1);
    expect(sent.join()).not.toContain('c@people.example');
  });
});
