import { randomUUID } from 'node:crypto';
import { purgeExpired, smtpMail } from '@sotto/control';
import { afterAll, describe, expect, it } from 'vitest';
import { openMailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import { type Answer, sessionStatus, signIn, useWorld, type Visitor } from './world.ts';

const mailbox = await openMailbox();
afterAll(() => mailbox.stop());
const world = await useWorld({ mailer: smtpMail({ url: mailbox.url, from: 'no-reply@sotto.example' }) });

const fresh = () => `${randomUUID()}@people.example`;
/** The parts of an answer that could tell one case from another. */
const told = ({ status, headers, json }: Answer) => ({
  status,
  headers: [...headers.keys()].filter((name) => name !== 'connection' && name !== 'keep-alive').sort(),
  fields: JSON.stringify(json, (key, value) => (key !== '' && typeof value === 'string' ? typeof value : value)),
});

describe('a stranger', () => {
  it.each<[string, (email: string) => readonly [string, object]]>([
    ['signs up', (email) => ['/auth/sign-up/email', { name: 'Eve', email, password: 'some other password' }]],
    ['signs in', (email) => ['/auth/sign-in/email', { email, password: 'some other password' }]],
    ['asks for a reset', (email) => ['/auth/request-password-reset', { email }]],
    ['asks for a link', (email) => ['/auth/send-verification-email', { email }]],
  ])('who %s gets the same answer for addresses that are known, unverified and unknown', async (_, ask) => {
    const emails = [(await world.verified()).email, (await world.signUp()).email, fresh()];
    const answers = [];
    for (const email of emails) answers.push(told(await world.visitor().post(...ask(email))));
    expect(answers[0]).toEqual(answers[2]);
    expect(answers[1]).toEqual(answers[2]);
  });

  it('waits for a sign-up with a known address as for one with a new address', async () => {
    for (const email of [(await world.verified()).email, fresh()]) {
      const startedAt = performance.now();
      await world.visitor().post('/auth/sign-up/email', { name: 'Eve', email, password });
      // Both sign-ups take the same time, so it does not show which address is known. Timers may end a little early.
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(395);
    }
  });

  it('that floods sign-in gets 503 with the time to wait, and never 500', async () => {
    const holder = await world.pool.connect();
    try {
      // Requests that run wait for this table. The others wait for them, or are too many.
      await holder.query('begin; lock table auth_verification in access exclusive mode');
      const flood = Array.from({ length: 160 }, () =>
        world.visitor().post('/auth/verify-email', { token: 'x', password }),
      );
      const refused = await Promise.race(flood);
      expect([refused.status, refused.json.error.type]).toEqual([503, 'service_unavailable']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      await holder.query('commit');
      const statuses = (await Promise.all(flood)).map(({ status }) => status);
      expect([...new Set(statuses)].sort()).toEqual([400, 503]);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  });

  it('cannot use pages of other sites on any route that changes something', async () => {
    const person = await world.verified();
    const paths = [
      '/auth/sign-out',
      '/auth/change-password',
      '/auth/change-email',
      '/auth/delete-account',
      '/auth/update-user',
      '/auth/verify-email',
      '/auth/send-verification-email',
      '/auth/two-factor/enable',
      '/auth/two-factor/disable',
      '/auth/passkey/verify-registration',
      '/auth/passkey/delete-passkey',
      '/auth/revoke-sessions',
      '/auth/revoke-other-sessions',
      '/invitations/00000000-0000-4000-8000-000000000000/accept',
    ];
    for (const path of paths) {
      const visitor = await signIn(world.visitor(), person);
      for (const headers of [
        { origin: 'https://evil.example' },
        { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
        { origin: 'https://evil.example', 'content-type': 'text/plain' },
      ]) {
        const answer = await visitor.post(path, { password, token: 'x', name: 'Eve' }, headers);
        expect([path, [403, 415].includes(answer.status)]).toEqual([path, true]);
      }
      expect((await visitor.get('/auth/get-session')).json.user).toMatchObject({ name: 'Ann', email: person.email });
    }
  });
});

describe('a session', () => {
  it('is a new one at every sign-in, whatever the browser had before', async () => {
    const person = await world.verified();
    const planted = await signIn(world.visitor(), await world.verified());
    const before = new Map(planted.cookies);
    await signIn(planted, person);
    const [[name = '', value] = []] = planted.cookies;
    expect(before.get(name)).not.toBe(value);
    expect((await planted.get('/auth/get-session')).json.user.email).toBe(person.email);
    // The service does not adopt a made-up session either.
    const visitor = world.visitor();
    visitor.cookies.set(name, 'made.up');
    await signIn(visitor, person);
    expect(visitor.cookies.get(name)).not.toBe('made.up');
  });

  it('is listed with its device and last use, also when it is old, and ended alone, with the others, with all', async () => {
    const person = await world.verified();
    const devices: Visitor[] = [];
    for (const agent of ['Mozilla/5.0 (X11; Linux x86_64)', 'curl/8', 'python/3']) {
      const visitor = world.visitor();
      await visitor.post('/auth/sign-in/email', person, { 'user-agent': agent });
      devices.push(visitor);
    }
    await world.pool.query("update auth_session set created_at = now() - interval '3 days'");
    const [first, second, third] = devices;
    if (!first || !second || !third) throw new Error('three devices');
    const listed: { id: string; token: string; userAgent: string; updatedAt: string }[] = (
      await first.get('/auth/list-sessions')
    ).json;
    expect(listed.map(({ userAgent }) => userAgent).sort()).toEqual([
      'Mozilla/5.0 (X11; Linux x86_64)',
      'curl/8',
      'python/3',
    ]);
    const alive = () => Promise.all(devices.map(sessionStatus));
    const { token } = listed.find(({ userAgent }) => userAgent === 'curl/8') ?? { token: '' };
    await first.post('/auth/revoke-session', { token });
    expect(await alive()).toEqual([200, 401, 200]);
    await first.post('/auth/revoke-other-sessions');
    expect(await alive()).toEqual([200, 401, 401]);
    await first.post('/auth/revoke-sessions');
    expect(await alive()).toEqual([401, 401, 401]);
  });
});

describe('invitations', () => {
  it('that wait are shown to the person who verified the address, and answered by id', async () => {
    const owner = await signIn(world.visitor(), await world.verified());
    const { id: workspaceId } = (await owner.post('/workspaces', { name: 'Research' })).json;
    const person = await world.verified();
    const [ann, eve] = [await signIn(world.visitor(), person), await signIn(world.visitor(), await world.verified())];
    const invite = async () =>
      (await owner.post(`/workspaces/${workspaceId}/invitations`, { email: person.email, role: 'member' })).json;
    await invite();
    const { text } = await mailbox.newest(person.email, 'invited');
    expect(text).toContain(`${world.origin}/invitations#token=sotto_inv_`);

    const [waiting] = (await ann.get('/invitations')).json.data;
    expect(waiting).toMatchObject({ workspace: 'Research', role: 'member' });
    expect((await eve.get('/invitations')).json.data).toEqual([]);
    for (const answer of ['accept', 'decline']) {
      expect((await eve.post(`/invitations/${waiting.id}/${answer}`)).status).toBe(404);
      expect((await ann.post(`/invitations/nothing/${answer}`)).status).toBe(404);
    }
    expect((await ann.post(`/invitations/${waiting.id}/decline`)).status).toBe(204);
    expect((await ann.get('/invitations')).json.data).toEqual([]);
    await invite();
    const [{ id }] = (await ann.get('/invitations')).json.data;
    const accepted = await ann.post(`/invitations/${id}/accept`);
    expect([accepted.status, accepted.json.role]).toEqual([200, 'member']);
    expect((await ann.post(`/invitations/${id}/accept`)).status).toBe(404);

    // A person whose address is not verified can neither see nor answer them.
    await world.pool.query('update auth_user set email_verified = false where email = $1', [person.email]);
    for (const refused of [await ann.get('/invitations'), await ann.post(`/invitations/${id}/accept`)]) {
      expect([refused.status, refused.json.error.type]).toEqual([403, 'email_not_verified']);
    }
  });
});

describe('expired records', () => {
  it('are deleted', async () => {
    const person = await world.verified();
    const visitor = await signIn(world.visitor(), person);
    const count = async (table: string) => (await world.pool.query(`select 1 from ${table}`)).rowCount ?? 0;
    const [{ id: workspaceId }] = (await visitor.get('/workspaces')).json.data;
    const invited = { email: 'never-came@people.example', role: 'member' };
    expect((await visitor.post(`/workspaces/${workspaceId}/invitations`, invited)).status).toBe(201);
    await world.pool.query(
      `insert into sign_up_invitations (id, email, expires_at)
       values (gen_random_uuid(), 'neither@people.example', now() + interval '7 days')`,
    );
    const tables = ['auth_session', 'auth_verification', 'sign_up_invitations', 'workspace_invitations'];
    const counts = () => Promise.all(tables.map(count));
    const [sessions, , signUps, invitations] = await counts();
    await purgeExpired(world.pool, Date.now());
    expect(await counts()).toMatchObject({ 0: sessions, 2: signUps, 3: invitations });
    await purgeExpired(world.pool, Date.now() + 31 * 86_400_000);
    expect(await counts()).toEqual([0, 0, 0, 0]);
    expect(await sessionStatus(visitor)).toBe(401);
  });
});
