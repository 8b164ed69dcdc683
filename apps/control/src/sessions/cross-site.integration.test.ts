import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { describe, expect, it } from 'vitest';
import {
  authApp,
  dashboard,
  origin,
  password,
  sessionCookieOf,
  setCookies,
  tokenOf,
} from '../testing/auth-app.integration.ts';

const { buildApp, inject, post, get, signUp, signIn, signedIn } = await authApp();

describe('cookies', () => {
  const attributesOf = (response: LightMyRequestResponse): string[] =>
    (setCookies(response).find((line) => line.includes('session_token=')) ?? '').split('; ').slice(1).sort();

  it('are HttpOnly and Lax, and not Secure on loopback http', async () => {
    await signUp();
    const response = await signIn();
    expect(sessionCookieOf(response)).toMatch(/^sotto\.session_token=/);
    expect(attributesOf(response)).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax']);
  });

  it.each(['https://sotto.example', 'http://sotto.example'])('are Secure off loopback: %s', async (publicOrigin) => {
    await signUp();
    const remote = await buildApp(publicOrigin);
    const payload = { email: 'ada@example.com', password };
    const response = await remote.inject({ method: 'POST', url: '/v1/auth/sign-in/email', payload });
    expect(sessionCookieOf(response)).toMatch(/^__Secure-sotto\.session_token=/);
    expect(attributesOf(response)).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure']);
    const headers = { cookie: sessionCookieOf(response) };
    expect((await remote.inject({ url: '/v1/whoami', headers })).statusCode).toBe(200);
    await remote.close();
  });

  it('that were planted before the sign-in are not adopted', async () => {
    const planted = await signedIn();
    await signUp('eve@example.com');
    const response = await post('/sign-in/email', { email: 'eve@example.com', password }, { cookie: planted, origin });
    const fresh = sessionCookieOf(response);
    expect(tokenOf(fresh)).not.toBe(tokenOf(planted));
    expect((await get('/v1/whoami', fresh)).json().email).toBe('eve@example.com');
    expect((await get('/v1/whoami', planted)).json().email).toBe('ada@example.com');
  });
});

describe('cross-site requests', () => {
  const evil = 'https://evil.example';
  const form = 'application/x-www-form-urlencoded';

  it.each<[string, InjectOptions['headers']]>([
    ['of another origin', { origin: evil }],
    ['of another port', { origin: 'http://127.0.0.1:4001' }],
    ['of the origin `null`', { origin: 'null' }],
    ['with a foreign referer', { referer: `${evil}/page` }],
    ['that the browser calls cross-site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }],
    ['of a form', { origin: evil, 'content-type': form }],
    ['of a form that hides its origin', { 'content-type': form }],
  ])('with a cookie are refused: %s', async (_name, headers) => {
    const cookie = await signedIn();
    const sent = { 'content-type': 'application/json', ...headers, cookie };
    const credentials = { email: 'ada@example.com', password };
    const payload = sent['content-type'] === form ? `${new URLSearchParams(credentials)}` : JSON.stringify(credentials);
    const send = (url: string) => inject({ method: 'POST', url, headers: sent, payload });

    const refused = await send('/v1/auth/sign-in/email');
    expect(refused.statusCode).toBe(sent['content-type'] === form ? 415 : 403);
    expect(setCookies(refused)).toEqual([]);
    for (const url of ['/v1/auth/revoke-sessions', '/v1/whoami']) {
      expect([403, 415]).toContain((await send(url)).statusCode);
    }
    expect((await get('/v1/whoami', cookie)).statusCode).toBe(200);
  });

  it('without a cookie cannot sign anyone in either', async () => {
    await signUp();
    for (const headers of [{ origin: evil }, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }]) {
      const response = await signIn(headers);
      expect(response.statusCode).toBe(403);
      expect(setCookies(response)).toEqual([]);
    }
  });

  it.each<[string, Record<string, string>]>([
    ['our own page', { origin, 'sec-fetch-site': 'same-origin' }],
    ['the trusted dashboard', { origin: dashboard, 'sec-fetch-site': 'cross-site' }],
    ['a script that sends JSON', {}],
    ['Node’s fetch', { 'sec-fetch-mode': 'cors' }],
  ])('do not include requests from %s', async (_name, headers) => {
    const cookie = await signedIn();
    expect((await signIn(headers)).statusCode).toBe(200);
    expect((await signIn({ ...headers, cookie })).statusCode).toBe(200);
    const own = { method: 'POST', url: '/v1/whoami', payload: {}, headers: { ...headers, cookie } } as const;
    expect((await inject(own)).statusCode).toBe(200);
    expect((await post('/sign-out', {}, { ...headers, cookie })).statusCode).toBe(200);
  });

  it('cannot name a callback URL of another site: sign-in ignores it', async () => {
    await signUp();
    const payload = { email: 'ada@example.com', password, callbackURL: `${evil}/phish` };
    const response = await post('/sign-in/email', payload);
    expect([response.statusCode, response.headers.location]).toEqual([200, undefined]);
    expect(response.body).not.toContain(evil);
  });
});
