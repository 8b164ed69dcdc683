import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { whileHeld } from '@sotto/test-servers';
import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { Authenticator, totpCode } from '../../kit/authenticator.ts';
import { password } from '../../kit/signed-up.ts';
import { freshAddress, useProvider } from './by-provider.ts';
import { registration, show } from './people.ts';
import { type Answer, sessionStatus, signIn, type Visitor } from './world.ts';

const { world, openid, provider, signInAs, arrive } = await useProvider();
const event = 'http://schemas.openid.net/event/backchannel-logout';

/** Sends a token as the provider does. */
const send = (token: string, origin = world.origin): Promise<Response> =>
  fetch(`${origin}/v1/auth/openid/logout`, { method: 'POST', body: new URLSearchParams({ logout_token: token }) });

interface Forgery {
  readonly claims?: object;
  readonly header?: object;
  readonly key?: KeyObject | Uint8Array;
}

/** A token of the provider for a person, or one that differs in something. */
function logoutToken(subject: string, { claims = {}, header = {}, key = provider.key.private }: Forgery = {}) {
  const seconds = Math.floor(Date.now() / 1000);
  const right = {
    ...{ iss: openid.issuer, aud: 'sotto', iat: seconds, exp: seconds + 120, jti: randomUUID() },
    ...{ sub: subject, events: { [event]: {} } },
  };
  return new SignJWT({ ...right, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: provider.key.kid, typ: 'logout+jwt', ...header })
    .sign(key);
}

const sidOf = async (email: string): Promise<string> => {
  const { rows } = await world.pool.query<{ sid: string }>(
    `select s.openid_sid as sid from auth_session s join auth_user u on u.id = s.user_id
     where u.email = $1 and s.openid_sid is not null order by s.created_at desc limit 1`,
    [email],
  );
  return rows[0]?.sid ?? '';
};

async function enrol(visitor: Visitor): Promise<Answer> {
  const { json } = await visitor.post('/auth/two-factor/enable', { password });
  return visitor.post('/auth/two-factor/verify-totp', { code: totpCode(json.totpURI, Date.now()) });
}

describe('a logout at the OpenID provider', () => {
  it('ends the sessions of that session at the provider, and no other', async () => {
    const email = freshAddress();
    const [first, ben] = [await signInAs(email), await signInAs(freshAddress())];
    const sid = await sidOf(email);
    expect(sid.length).toBeGreaterThan(8);
    const second = await signInAs(email);
    expect(await sidOf(email)).not.toBe(sid);
    await provider.logOut(email, sid);
    expect(await sessionStatus(first.visitor)).toBe(401);
    expect([await sessionStatus(second.visitor), await sessionStatus(ben.visitor)]).toEqual([200, 200]);
  });

  it('ends all sessions of the person, also by password, if it names no session', async () => {
    const ann = await world.verified();
    const byPassword = await signIn(world.visitor(), ann);
    const { visitor } = await signInAs(ann.email);
    const answer = await send(await logoutToken(ann.email));
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect([await sessionStatus(visitor), await sessionStatus(byPassword)]).toEqual([401, 401]);
    // Without `typ`, as older providers send it; and for a person whom we do not know.
    for (const subject of [ann.email, 'a stranger'])
      expect((await send(await logoutToken(subject, { header: { typ: undefined } }))).status).toBe(200);
  });

  it('ends a session that a passkey has renewed', async () => {
    const email = freshAddress();
    const { visitor } = await signInAs(email);
    const sid = await sidOf(email);
    const key = new Authenticator();
    const added = await visitor.post('/auth/passkey/verify-registration', await registration(world, visitor, key));
    expect(added.status, added.text).toBe(200);
    expect((await show(world, key, {}, visitor)).answer.status).toBe(200);
    await provider.logOut(email, sid);
    expect(await sessionStatus(visitor)).toBe(401);
  });

  // Each of these replaces the session. The logout names the session at the provider in which the first one began.
  it.each<[string, (visitor: Visitor) => Promise<Answer>]>([
    ['adds an authenticator app', enrol],
    [
      'removes an authenticator app',
      async (visitor) => {
        await enrol(visitor);
        return visitor.post('/auth/two-factor/disable', { password });
      },
    ],
    [
      'changes the password and ends other sessions',
      (visitor) =>
        visitor.post('/auth/change-password', {
          ...{ currentPassword: password, newPassword: 'another long password', revokeOtherSessions: true },
        }),
    ],
  ])('ends a session that %s', async (_, change) => {
    const ann = await world.verified();
    const { visitor } = await signInAs(ann.email);
    const sid = await sidOf(ann.email);
    const began = visitor.cookies.get('sotto.session_token');
    const answer = await change(visitor);
    expect(answer.status, answer.text).toBe(200);
    expect(visitor.cookies.get('sotto.session_token')).not.toBe(began);
    expect(await sessionStatus(visitor)).toBe(200);
    await provider.logOut(ann.email, sid);
    expect(await sessionStatus(visitor)).toBe(401);
  });

  it('is believed only in a token that the specification allows', async () => {
    const email = freshAddress();
    const { visitor } = await signInAs(email);
    const seconds = Math.floor(Date.now() / 1000);
    const forgeries: readonly [string, Forgery][] = [
      ['another issuer', { claims: { iss: 'https://elsewhere.example' } }],
      ['another client', { claims: { aud: 'another' } }],
      ['an expired one', { claims: { exp: seconds - 300 } }],
      ['an old one', { claims: { iat: seconds - 3600 } }],
      ['no time', { claims: { iat: undefined } }],
      ['no jti', { claims: { jti: undefined } }],
      ['no events', { claims: { events: undefined } }],
      ['another event', { claims: { events: { 'http://example.com/other': {} } } }],
      ['a nonce, as an ID token has', { claims: { nonce: 'x' } }],
      ['neither sub nor sid', { claims: { sub: undefined } }],
      ['another type', { header: { typ: 'at+jwt' } }],
      ['another key', { key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey }],
      ['a symmetric key', { header: { alg: 'HS256' }, key: Buffer.from('a client secret'.repeat(3)) }],
    ];
    for (const [what, forgery] of forgeries) {
      const answer = await send(await logoutToken(email, forgery));
      expect([what, answer.status]).toEqual([what, 400]);
    }
    for (const text of ['', 'x', 'a.b.c', `${'a'.repeat(9)}.${'b'.repeat(9)}.`])
      expect((await send(text)).status, text).toBe(400);
    expect(await sessionStatus(visitor)).toBe(200);
  });

  // A replay of a token without `sid` could end every later session of the person.
  it('works once: a token that comes again is refused, and ends no later session', async () => {
    const email = freshAddress();
    const token = await logoutToken(email, { claims: { iat: Math.floor(Date.now() / 1000) - 5 } });
    expect((await send(token)).status).toBe(200);
    const { visitor } = await signInAs(email);
    const again = await send(token);
    expect([again.status, await again.json()]).toMatchObject([
      400,
      { error: { message: 'The token was used before.' } },
    ]);
    expect(await sessionStatus(visitor)).toBe(200);
  });

  // The process that stored a logout may have died before it deleted sessions. The provider sends the token again.
  it('deletes what an interrupted one has left', async () => {
    const email = freshAddress();
    const { visitor } = await signInAs(email);
    const sid = await sidOf(email);
    const token = await logoutToken(email, { claims: { sid } });
    expect((await send(token)).status).toBe(200);
    await world.pool.query(
      `insert into auth_session (id, token, user_id, expires_at, openid_sid, openid_at)
       select 'left', 'left', id, now() + interval '1 day', $2, now() from auth_user where email = $1`,
      [email, sid],
    );
    expect((await send(token)).status).toBe(400);
    expect(await sessionStatus(visitor)).toBe(401);
    expect((await world.pool.query("select from auth_session where id = 'left'")).rowCount).toBe(0);
  });

  // A sign-in whose ID token is older than the logout may store its session after the logout has deleted all others.
  it('ends a sign-in that is under way', async () => {
    const email = freshAddress();
    await signInAs(email);
    const { visitor, finish } = await arrive(email);
    const held = {
      rows: 'select 1 from auth_user where email = $1 for update',
      values: [email],
      waiting: 'insert into "auth_session"',
      meanwhile: async () => {
        const inASecond = { claims: { iat: Math.floor(Date.now() / 1000) + 1 } };
        expect((await send(await logoutToken(email, inASecond))).status).toBe(200);
      },
    };
    const [back] = await whileHeld<Answer>(world.pool, held, [finish]);
    expect(back?.headers.get('location')).toMatch(/^\/sign-in\?error=signed_out/);
    expect(await sessionStatus(visitor)).toBe(401);
  });

  it('is a 404 without a provider, and a 503 while its keys cannot be read', async () => {
    const without = await world.another({ openid: undefined as never });
    expect((await send('x', without.origin)).status).toBe(404);
    const away = await world.another({ openid: { ...openid, issuer: 'http://127.0.0.1:1' } });
    expect((await send(await logoutToken('ann'), away.origin)).status).toBe(503);
  });
});
