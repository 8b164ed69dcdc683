import { randomUUID } from 'node:crypto';
import type { Contract } from '@sotto/contract';
import { signInContracts } from '@sotto/contract/control/sign-in';
import { smtpMail } from '@sotto/control';
import { freePort } from '@sotto/test-servers';
import { afterAll, describe, expect, it } from 'vitest';
import { Authenticator, totpCode } from '../../kit/authenticator.ts';
import { openMailbox } from '../../kit/mailbox.ts';
import { password } from '../../kit/signed-up.ts';
import { openidAt, startProvider, throughProvider } from './openid-server.ts';
import { confirm, enrolled, halfSignedIn, owner, registration, verified } from './people.ts';
import { type Answer, useWorld, type Visitor } from './world.ts';

const issuerPort = await freePort();
const mailbox = await openMailbox();
afterAll(() => mailbox.stop());
const world = await useWorld({
  mailer: smtpMail({ url: mailbox.url, from: 'no-reply@sotto.example' }),
  openid: openidAt(issuerPort),
});
const provider = await startProvider(
  issuerPort,
  `${world.origin}/v1/auth/callback/openid`,
  () => `${randomUUID()}@work.example`,
);
afterAll(() => provider.stop());

const evil = 'https://evil.example';
/** Every name by which better-auth takes an address to send a browser to. */
const callbacks = Object.fromEntries(
  ['callbackURL', 'redirectTo', 'errorCallbackURL', 'newUserCallbackURL'].map((name) => [name, `${evil}/phish`]),
);
const inQuery = `${new URLSearchParams(callbacks)}`;

type RouteKey = keyof typeof signInContracts;

/** A request that is served. It can be sent once. */
interface Ready {
  readonly visitor: Visitor;
  /** Default: the path of the route. */
  readonly path?: string;
  readonly body?: object;
}

interface Row {
  readonly ready: () => Promise<Ready>;
  /** Default: 200. */
  readonly status?: number;
  /** The `set-cookie` lines of the answer without their values. Default: none. */
  readonly cookies?: readonly string[];
}

const cookie = (name: string, seconds: number): string =>
  `sotto.${name}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax`;
const session = cookie('session_token', 2_592_000);
/** A new session, on a device that is known from then on. */
const signedIn = [session, cookie('device', 31_536_000)];
const signedOut = ['session_token', 'session_data', 'dont_remember'].map((name) => cookie(name, 0));
const challenge = [cookie('passkey', 300)];

const stranger = async (body?: object): Promise<Ready> => ({ visitor: world.visitor(), ...(body && { body }) });
const member = async (body?: object): Promise<Ready> => ({
  visitor: (await verified(world)).visitor,
  ...(body && { body }),
});
const keyOwner = async (bodyOf: (id: string) => object): Promise<Ready> => {
  const { visitor } = await owner(world);
  const [{ id }] = (await visitor.get('/auth/passkey/list-user-passkeys')).json;
  return { visitor, body: bodyOf(id) };
};

const rows: Readonly<Record<RouteKey, Row>> = {
  'POST /v1/auth/sign-up/email': {
    ready: () => stranger({ name: 'Ann', email: `${randomUUID()}@people.example`, password }),
  },
  'POST /v1/auth/sign-in/email': {
    ready: async () => stranger(await world.verified()),
    cookies: signedIn,
  },
  'POST /v1/auth/sign-out': { ready: member, cookies: signedOut },
  'GET /v1/auth/get-session': { ready: member },
  'GET /v1/auth/list-sessions': { ready: member },
  'POST /v1/auth/revoke-session': { ready: () => member({ token: 'x' }) },
  'POST /v1/auth/revoke-other-sessions': { ready: member },
  'POST /v1/auth/revoke-sessions': { ready: member },
  'POST /v1/auth/change-password': {
    ready: () => member({ currentPassword: password, newPassword: 'staple battery horse', revokeOtherSessions: true }),
    cookies: signedIn,
  },
  'GET /v1/auth/methods': { ready: stranger },
  'POST /v1/auth/send-verification-email': {
    ready: async () => stranger({ email: (await world.signUp()).email }),
  },
  'POST /v1/auth/verify-email': {
    ready: async () => {
      const { email } = await world.signUp();
      return stranger({ token: await mailbox.token(email, 'Confirm your address'), password });
    },
    cookies: signedIn,
  },
  'POST /v1/auth/change-email': {
    ready: () => member({ newEmail: `${randomUUID()}@people.example`, password }),
  },
  'POST /v1/auth/request-password-reset': {
    ready: async () => stranger({ email: (await world.verified()).email }),
  },
  'POST /v1/auth/reset-password': {
    ready: async () => {
      const { email } = await world.verified();
      await world.visitor().post('/auth/request-password-reset', { email });
      return stranger({ token: await mailbox.token(email, 'Set a new password'), newPassword: 'staple battery horse' });
    },
  },
  'POST /v1/auth/two-factor/enable': { ready: () => member({ password }) },
  'POST /v1/auth/two-factor/verify-totp': {
    ready: async () => {
      const { visitor } = await verified(world);
      const { json } = await visitor.post('/auth/two-factor/enable', { password });
      return { visitor, body: { code: totpCode(json.totpURI, Date.now()) } };
    },
    cookies: signedIn,
  },
  'POST /v1/auth/two-factor/verify-backup-code': {
    ready: async () => {
      const person = await enrolled(world);
      return { visitor: await halfSignedIn(world, person), body: { code: person.backupCodes[0] } };
    },
    cookies: [session, cookie('two_factor', 0), cookie('device', 31_536_000)],
  },
  'POST /v1/auth/two-factor/generate-backup-codes': {
    ready: async () => ({ visitor: (await enrolled(world)).visitor, body: { password } }),
  },
  'POST /v1/auth/two-factor/disable': {
    ready: async () => ({ visitor: (await enrolled(world)).visitor, body: { password } }),
    cookies: signedIn,
  },
  'POST /v1/auth/confirm-password': { ready: () => member({ password }) },
  'GET /v1/auth/passkey/generate-register-options': {
    ready: async () => {
      const ready = await member();
      await confirm(ready.visitor);
      return ready;
    },
    cookies: challenge,
  },
  'POST /v1/auth/passkey/verify-registration': {
    ready: async () => {
      const { visitor } = await verified(world);
      const confirmation = await confirm(visitor);
      return { visitor, body: { ...(await registration(world, visitor, new Authenticator())), confirmation } };
    },
  },
  'GET /v1/auth/passkey/generate-authenticate-options': { ready: stranger, cookies: challenge },
  'POST /v1/auth/passkey/verify-authentication': {
    ready: async () => {
      const { key } = await owner(world);
      const visitor = world.visitor();
      const { json } = await visitor.get('/auth/passkey/generate-authenticate-options');
      return { visitor, body: { response: key.assert(json.challenge, { origin: world.origin, rpId: 'localhost' }) } };
    },
    cookies: signedIn,
  },
  'GET /v1/auth/passkey/list-user-passkeys': { ready: member },
  'POST /v1/auth/passkey/update-passkey': { ready: () => keyOwner((id) => ({ id, name: 'Phone' })) },
  'POST /v1/auth/passkey/delete-passkey': { ready: () => keyOwner((id) => ({ id })) },
  'GET /v1/auth/passkey/review': { ready: member },
  'POST /v1/auth/passkey/reviewed': { ready: member },
  'POST /v1/auth/sign-in/social': {
    ready: () => stranger({ provider: 'openid', callbackURL: '/', errorCallbackURL: '/sign-in' }),
    cookies: [cookie('state', 300)],
  },
  'GET /v1/auth/callback/{id}': {
    ready: async () => {
      const visitor = world.visitor();
      const { json } = await visitor.post('/auth/sign-in/social', { provider: 'openid', callbackURL: '/' });
      return { visitor, path: (await throughProvider(json.url)).replace(/^.*\/v1\//, '/') };
    },
    status: 302,
    cookies: [cookie('state', 0), session],
  },
  'GET /v1/auth/list-accounts': { ready: member },
  'POST /v1/auth/delete-account': {
    ready: async () => {
      const { visitor, email } = await verified(world);
      return { visitor, body: { email, password } };
    },
    cookies: signedOut,
  },
  'POST /v1/auth/update-user': { ready: () => member({ name: 'Ann Other' }), cookies: signedIn },
};

const isRead = (key: RouteKey): boolean => key.startsWith('GET');
const pathOf = (key: RouteKey): string => key.replace(/^\w+ \/v1/, '');
const send = (
  key: RouteKey,
  { visitor, path = pathOf(key), body = {} }: Ready,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => (isRead(key) ? visitor.get(path, headers) : visitor.post(path, body, headers));

/** Whether the route ignores further fields of a body. Others refuse them. */
const ignores = (key: RouteKey, body: object): boolean => {
  const { body: schema }: Contract = signInContracts[key];
  return schema === undefined || typeof schema === 'string' || schema.safeParse(body).success;
};

const cookieLines = ({ headers }: Answer): string[] => headers.getSetCookie().map((line) => line.replace(/=[^;]*/, ''));
const refusal = (answer: Answer) => [answer.status, answer.json?.error?.type, cookieLines(answer)];

describe.each(Object.entries(rows) as [RouteKey, Row][])('%s', (key, { ready, status = 200, cookies = [] }) => {
  it('does nothing for another site, follows no callback of one, and sets exactly its cookies', async () => {
    const request = await ready();
    const planted = request.visitor.cookies.size > 0 ? {} : { cookie: 'sotto.session_token=planted' };
    const foreign = [
      { origin: evil, ...planted },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', ...planted },
      { origin: evil },
    ];
    for (const headers of isRead(key) ? [] : foreign)
      expect(refusal(await send(key, request, headers))).toEqual([403, 'forbidden', []]);

    const more = { ...request.body, ...callbacks };
    const isIgnored = ignores(key, more);
    if (!isIgnored) expect(refusal(await send(key, { ...request, body: more }))).toEqual([400, 'invalid_request', []]);
    const path = request.path ?? pathOf(key);
    const sent = { ...request, path: `${path}${path.includes('?') ? '&' : '?'}${inQuery}` };
    const served = await send(
      key,
      isIgnored && !isRead(key) ? { ...sent, body: more } : sent,
      // A page of another site may navigate here, but reads nothing.
      isRead(key) ? { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } : {},
    );
    expect(served.status, served.text).toBe(status);
    expect(cookieLines(served)).toEqual(cookies);
    expect(served.headers.get('cache-control')).toBe('no-store');
    expect(served.headers.get('access-control-allow-origin')).toBe(null);
    expect(`${served.text} ${served.headers.get('location')}`).not.toContain('evil');
  });
});

describe('a sign-in with the provider', () => {
  it.each([
    `${evil}/phish`,
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    `${world.origin}@evil.example/`,
    `${world.origin}.evil.example/`,
    `${world.origin}//evil.example/`,
    `blob:${world.origin}/1`,
    // Each of these is a path of ours, which becomes `//evil.example` where only the path is used.
    '/.//evil.example/',
    '/a/..//evil.example/',
    '/%2e//evil.example/',
    '/a/%2e%2e//evil.example/',
    '/..//evil.example/',
  ])('returns to no other site: %j', async (address) => {
    for (const name of ['callbackURL', 'errorCallbackURL']) {
      const body = { provider: 'openid', callbackURL: '/', [name]: address };
      const refused = await world.visitor().post('/auth/sign-in/social', body);
      expect([refusal(refused), refused.json.error.param]).toEqual([[403, 'forbidden', []], name]);
    }
  });

  it.each(['/', '/keys?tab=1', `${world.origin}/keys`])('returns to our pages: %s', async (callbackURL) => {
    const visitor = world.visitor();
    const { json } = await visitor.post('/auth/sign-in/social', { provider: 'openid', callbackURL });
    const back = await visitor.get((await throughProvider(json.url)).replace(/^.*\/v1\//, '/'));
    expect([back.status, back.headers.get('location')]).toEqual([302, callbackURL]);
  });
});

it('a password that is changed twice at once is changed once', async () => {
  const person = await verified(world);
  const passwords = ['the first new password', 'the other new password'];
  const changes = await Promise.all(
    passwords.map((newPassword) =>
      person.visitor.post('/auth/change-password', { currentPassword: person.password, newPassword }),
    ),
  );
  // The other is refused by the check of its password, or by the guard that follows.
  expect(changes.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const { status } of changes) expect([200, 400, 401]).toContain(status);
  for (const [at, each] of passwords.entries()) {
    const answer = await world.visitor().post('/auth/sign-in/email', { email: person.email, password: each });
    expect(answer.status).toBe(changes[at]?.status === 200 ? 200 : 401);
  }
});
