import { signInContracts } from '@sotto/contract/control/sign-in';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { authApp, origin, password, sessionCookieOf, setCookies, tokenOf } from '../testing/auth-app.integration.ts';
import { hashSessionToken } from './hashed-token-adapter.ts';

const cookieName = 'sotto.session_token';
const { authFor, buildApp, inject, query, post, get, signUp, signIn, signedIn, logLines, onSignUp } = await authApp();

it('the endpoints of better-auth that no contract names do not exist', async () => {
  const cookie = await signedIn();
  const endpoints = Object.values(authFor(origin).api).flatMap(({ path, options }) =>
    path === undefined ? [] : [options.method].flat().map((method) => ({ method, path })),
  );
  const listed = new Set(Object.keys(signInContracts));
  const unlisted = endpoints.filter(
    ({ method, path }) => !listed.has(`${method} /v1/auth${path.replace(/:(\w+)/g, '{$1}')}`),
  );
  expect(unlisted.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['/delete-user', '/update-session', '/reset-password/:token', '/two-factor/send-otp']),
  );
  for (const { method, path } of unlisted) {
    const url = `/v1/auth${path.replace(/:\w+/g, 'x')}`;
    const payload = method === 'GET' ? undefined : {};
    const { statusCode } = await inject({ method, url, headers: { cookie }, ...(payload && { payload }) } as never);
    expect([method, path, statusCode]).toEqual([method, path, 404]);
  }
});

describe('signing up, in and out', () => {
  it('signs up, signs in, knows the session and forgets it at sign-out', async () => {
    const up = await signUp('Ada@Example.com');
    expect(up.statusCode).toBe(200);
    expect(setCookies(up)).toEqual([]);
    expect(onSignUp).toHaveBeenCalledExactlyOnceWith({
      id: up.json().user.id,
      email: 'ada@example.com',
      name: 'Ada',
    });

    const response = await signIn();
    const cookie = sessionCookieOf(response);
    expect(response.statusCode).toBe(200);
    expect(response.headers['cache-control']).toBe('no-store');
    expect((await get('/v1/auth/get-session', cookie)).json().user.email).toBe('ada@example.com');
    expect((await get('/v1/whoami', cookie)).json()).toEqual({
      userId: up.json().user.id,
      email: 'ada@example.com',
      emailVerified: false,
      sessionId: expect.any(String),
      signedInAt: expect.any(Number),
    });

    const out = await post('/sign-out', {}, { cookie });
    expect(out.statusCode).toBe(200);
    expect(setCookies(out).find((line) => line.startsWith(`${cookieName}=;`))).toMatch(/Max-Age=0/);
    expect((await get('/v1/whoami', cookie)).statusCode).toBe(401);
    expect((await get('/v1/auth/get-session', cookie)).json()).toBeNull();
    expect((await query('select 1 from auth_session')).rowCount).toBe(0);
  });

  it('refuses a wrong password in our envelope', async () => {
    await signUp();
    const response = await post('/sign-in/email', { email: 'ada@example.com', password: 'not it at all' });
    expect(response.statusCode).toBe(401);
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    expect(response.json()).toEqual({
      error: {
        message: 'Invalid email or password',
        type: 'unauthenticated',
        code: 'INVALID_EMAIL_OR_PASSWORD',
        request_id: expect.any(String),
      },
    });
    expect(setCookies(response)).toEqual([]);
  });

  it('puts every error answer into the envelope, even one without a body', async () => {
    const short = await post('/sign-up/email', { email: 'ada@example.com', password: 'short', name: 'Ada' });
    expect([short.statusCode, short.json().error.param]).toEqual([400, 'password']);
    const long = await post('/sign-up/email', { email: 'ada@example.com', password: 'x'.repeat(129), name: 'Ada' });
    expect([long.statusCode, long.json().error.param]).toEqual([400, 'password']);
    const malformed = await inject({
      method: 'POST',
      url: '/v1/auth/sign-in/email',
      headers: { 'content-type': 'application/json' },
      payload: '{"email":',
    });
    expect([malformed.statusCode, malformed.json().error.type]).toEqual([400, 'invalid_request']);
    const missing = await post('/sign-in/social', { provider: 'openid' });
    expect([missing.statusCode, missing.json().error.type]).toEqual([404, 'not_found']);
    expect(missing.headers['content-type']).toMatch(/^application\/json/);
  });

  it('takes bodies of 64 KiB at most', async () => {
    const response = await post('/sign-up/email', { email: 'ada@example.com', password, name: 'A'.repeat(65_536) });
    expect(response.statusCode).toBe(413);
  });

  it('ends other sessions by a listing, and only those', async () => {
    const first = await signedIn();
    const second = sessionCookieOf(await signIn());
    const third = sessionCookieOf(await signIn());
    const alive = async () =>
      Promise.all([first, second, third].map(async (cookie) => (await get('/v1/whoami', cookie)).statusCode));

    const listed: { id: string; token: string }[] = (await get('/v1/auth/list-sessions', first)).json();
    expect(listed.map(({ token }) => token).sort()).toEqual(
      [first, second, third].map((cookie) => hashSessionToken(tokenOf(cookie))).sort(),
    );
    await post('/revoke-session', { token: hashSessionToken(tokenOf(second)) }, { cookie: first });
    expect(await alive()).toEqual([200, 401, 200]);
    await post('/revoke-other-sessions', {}, { cookie: first });
    expect(await alive()).toEqual([200, 401, 401]);
  });

  it('does not end a session of someone else', async () => {
    const cookie = await signedIn();
    await signUp('eve@example.com');
    const eve = sessionCookieOf(await post('/sign-in/email', { email: 'eve@example.com', password }));
    await post('/revoke-session', { token: hashSessionToken(tokenOf(cookie)) }, { cookie: eve });
    await post('/revoke-other-sessions', {}, { cookie: eve });
    expect((await get('/v1/whoami', cookie)).statusCode).toBe(200);
  });
});

describe('a sign-up whose account cannot be created', () => {
  it('fails, and leaves a user who can sign in, so that the account is created then', async () => {
    onSignUp.mockRejectedValueOnce(new Error('no account for ada@example.com'));
    const up = await signUp();
    expect(up.statusCode).toBe(500);
    expect(up.json().error.type).toBe('internal_error');
    expect(up.body).not.toContain('ada@example.com');
    expect(setCookies(up)).toEqual([]);
    expect((await get('/v1/whoami', sessionCookieOf(await signIn()))).json().email).toBe('ada@example.com');
  });

  it('stores nothing at all if the user or the credential cannot be stored', async () => {
    await query('alter table auth_account add constraint never check (false) not valid');
    try {
      expect((await signUp()).statusCode).toBe(500);
    } finally {
      await query('alter table auth_account drop constraint never');
    }
    expect((await query('select 1 from auth_user')).rowCount).toBe(0);
    expect(onSignUp).not.toHaveBeenCalled();
    expect((await signUp()).statusCode).toBe(200);
  });
});

describe('protection of accounts from strangers', () => {
  it('answers a sign-up for a known address like one for a new address', async () => {
    const fresh = await signUp();
    const known = await signUp();
    expect(known.statusCode).toBe(fresh.statusCode);
    expect(Object.keys(known.headers).sort()).toEqual(Object.keys(fresh.headers).sort());
    const shape = (response: LightMyRequestResponse) => {
      const { token, user } = response.json();
      return { token, ...user, id: user.id.length, createdAt: typeof user.createdAt, updatedAt: typeof user.updatedAt };
    };
    expect(shape(known)).toEqual(shape(fresh));
    expect(Object.keys(known.json().user)).toEqual(Object.keys(fresh.json().user));
    expect(onSignUp).toHaveBeenCalledTimes(1);
    expect((await query('select 1 from auth_user')).rowCount).toBe(1);
  });

  it('does not let a second sign-up change the password', async () => {
    await signUp();
    await post('/sign-up/email', { email: 'ada@example.com', password: 'another password', name: 'Eve' });
    expect((await signIn()).statusCode).toBe(200);
  });

  it('answers a sign-in for an unknown address like a wrong password, and pays the same hash', async () => {
    await signUp();
    const attempt = async (email: string) => {
      const startedAt = performance.now();
      const { statusCode, body } = await post('/sign-in/email', { email, password: 'not it at all' });
      return { statusCode, body: body.replace(/"req-\w+"/, ''), tookMs: performance.now() - startedAt };
    };
    const fastest = { known: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    // The hash takes most of the time: 30 to 80 ms against a few. Without it the ratio stays far below a half. A busy
    // machine needs more than five rounds.
    for (let round = 0; round < 5 || (round < 50 && fastest.unknown / fastest.known <= 0.5); round++) {
      const known = await attempt('ada@example.com');
      const unknown = await attempt('nobody@example.com');
      expect([unknown.statusCode, unknown.body]).toEqual([known.statusCode, known.body]);
      fastest.known = Math.min(fastest.known, known.tookMs);
      fastest.unknown = Math.min(fastest.unknown, unknown.tookMs);
    }
    expect(fastest.unknown / fastest.known).toBeGreaterThan(0.5);
  });

  it('logs no address, no password and no token, whatever fails', async () => {
    const onConsole = (['log', 'info', 'warn', 'error', 'debug'] as const).map((method) =>
      vi.spyOn(console, method).mockImplementation(() => {}),
    );
    const cookie = await signedIn();
    await signUp();
    await signIn({ cookie, origin: 'https://evil.example' });
    await post('/sign-in/email', { email: 'ada@example.com', password: 'not it at all' });
    onSignUp.mockRejectedValueOnce(new Error('no account for bob@example.com'));
    await signUp('bob@example.com');
    await query('alter table auth_user add constraint never check (false) not valid');
    await signUp('dora@example.com');
    await query('alter table auth_user drop constraint never');
    for (const table of ['auth_user', 'auth_account', 'auth_session']) {
      await query(`alter table ${table} rename to elsewhere`);
      expect((await signIn()).statusCode).toBe(500);
      await signUp('carl@example.com');
      await get('/v1/auth/get-session', cookie);
      await query(`alter table elsewhere rename to ${table}`);
    }
    expect(logLines.filter((line) => line.includes('auth_failed')).length).toBeGreaterThan(0);
    const printed = JSON.stringify([logLines, onConsole.map((spy) => spy.mock.calls.flat().map(String))]);
    for (const spy of onConsole) spy.mockRestore();
    for (const secret of ['@example.com', password, 'not it at all', tokenOf(cookie)]) {
      expect(printed).not.toContain(secret);
    }
  });
});

describe('stored sessions', () => {
  it('holds no token that a cookie carries', async () => {
    const token = tokenOf(await signedIn());
    expect(token).toHaveLength(32);
    const { rows } = await query('select auth_session::text as row from auth_session');
    expect(rows).toHaveLength(1);
    expect(rows[0].row).not.toContain(token);
    expect(rows[0].row).toContain(hashSessionToken(token));
  });

  it('holds no token of a password reset', async () => {
    const { internalAdapter } = await authFor(origin).$context;
    const expiresAt = new Date(Date.now() + 60_000);
    await internalAdapter.createVerificationValue({ identifier: 'reset-password:sesame', value: 'user', expiresAt });
    const { rows } = await query('select auth_verification::text as row from auth_verification');
    expect(rows).toHaveLength(1);
    expect(rows[0].row).not.toContain('sesame');
    expect(await internalAdapter.findVerificationValue('reset-password:sesame')).toMatchObject({ value: 'user' });
  });

  it('keeps neither the address of the client nor one that a header claims', async () => {
    await signUp();
    await signIn({ 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9', 'x-real-ip': '203.0.113.9' });
    const { rows } = await query('select auth_session::text as row from auth_session');
    expect(rows[0].row).not.toMatch(/203\.0\.113\.9|127\.0\.0\.1/);
  });

  it('refuses a cookie whose signature does not fit, or which was cut', async () => {
    const cookie = await signedIn();
    for (const forged of [cookie.replace(/=./, '=#'), cookie.slice(0, -8), `${cookieName}=${tokenOf(cookie)}`]) {
      expect((await get('/v1/whoami', forged)).statusCode).toBe(401);
    }
  });

  it('is signed with our secret, whatever better-auth finds in the environment', async () => {
    const cookie = await signedIn();
    vi.stubEnv('BETTER_AUTH_SECRETS', '7:a secret that somebody left in the environment');
    const elsewhere = await buildApp(origin);
    expect((await elsewhere.inject({ url: '/v1/whoami', headers: { cookie } })).statusCode).toBe(200);
    vi.unstubAllEnvs();
    await elsewhere.close();
  });

  it('lasts 30 days, is renewed after one, and ends at its expiry', async () => {
    const cookie = await signedIn();
    const daysLeft = async () => {
      const { rows } = await query('select extract(epoch from expires_at - now()) / 86400 as days from auth_session');
      return Number(rows[0].days);
    };
    expect(await daysLeft()).toBeCloseTo(30, 1);

    await query(`update auth_session set expires_at = now() + interval '29 days 1 hour'`);
    expect(setCookies(await get('/v1/auth/get-session', cookie))).toEqual([]);
    await query(`update auth_session set expires_at = now() + interval '28 days'`);
    expect((await get('/v1/whoami', cookie)).statusCode).toBe(200);
    expect(await daysLeft()).toBeCloseTo(28, 1);
    const renewed = await get('/v1/auth/get-session', cookie);
    expect(sessionCookieOf(renewed)).toBe(cookie);
    expect(await daysLeft()).toBeCloseTo(30, 1);

    await query(`update auth_session set expires_at = now() - interval '1 second'`);
    expect((await get('/v1/whoami', cookie)).statusCode).toBe(401);
    expect((await get('/v1/auth/get-session', cookie)).json()).toBeNull();
  });
});
