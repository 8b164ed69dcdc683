import { createServer, type Server } from 'node:http';
import { Provider } from 'oidc-provider';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../kit/free-port.ts';
import { type Answer, sessionStatus, signIn, useWorld, type Visitor } from './world.ts';

/**
 * The provider's claims about a person who signs in with this address. With `unverified` in it, the address counts as
 * unverified.
 */
const claimsOf = (sub: string) => ({
  sub,
  email: sub,
  email_verified: !sub.includes('unverified'),
  name: `Name of ${sub}`,
});

interface OpenidServer {
  readonly issuer: string;
  stop(): Promise<void>;
}

/** Starts a real provider. Its sign-in pages accept the person that `who` names. */
async function startProvider(port: number, redirectUri: string, who: () => string): Promise<OpenidServer> {
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'sotto', client_secret: 'a client secret', redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => claimsOf(sub) }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    cookies: { keys: ['a key for cookies'] },
  });
  const handle = provider.callback();
  const server: Server = createServer((request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void handle(request, response);
    void (async () => {
      const { prompt, params, session } = await provider.interactionDetails(request, response);
      if (prompt.name === 'login') {
        return provider.interactionFinished(request, response, { login: { accountId: who() } });
      }
      const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params.client_id) });
      grant.addOIDCScope('openid email profile');
      return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
    })();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    issuer,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Follows the provider's redirects as a browser would. Resolves to the address that it sends back to. */
async function throughProvider(start: string): Promise<string> {
  const cookies = new Map<string, string>();
  let address = start;
  for (let hops = 0; hops < 10; hops += 1) {
    const answer = await fetch(address, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    await answer.body?.cancel();
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    address = new URL(answer.headers.get('location') ?? '', address).href;
    if (address.includes('/v1/auth/callback/')) return address;
  }
  throw new Error(`lost at ${address}`);
}

let provider: OpenidServer | undefined;
let who = '';

const issuerPort = await freePort();
const openid = {
  issuer: `http://127.0.0.1:${issuerPort}`,
  clientId: 'sotto',
  clientSecret: 'a client secret',
  name: 'Example Inc',
};
const world = await useWorld({ openid });
afterAll(() => provider?.stop());

const begin = (visitor: Visitor) =>
  visitor.post('/auth/sign-in/social', { provider: 'openid', callbackURL: '/', errorCallbackURL: '/sign-in' });

async function signInAs(
  email: string,
  visitor = world.visitor(),
): Promise<{ visitor: Visitor; back: Answer; callback: string }> {
  who = email;
  const { json } = await begin(visitor);
  const callback = (await throughProvider(json.url)).replace(/^.*\/v1\//, '/');
  return { visitor, back: await visitor.get(callback), callback };
}
const startTheProvider = async () => {
  provider ??= await startProvider(issuerPort, `${world.origin}/v1/auth/callback/openid`, () => who);
};

describe("the operator's OpenID provider", () => {
  it('may be away when control starts, and is used as soon as it is back', async () => {
    const away = await begin(world.visitor());
    expect([away.status, away.json.error.type]).toEqual([503, 'service_unavailable']);
    expect((await world.visitor().get('/auth/get-session')).status).toBe(200);
    await startTheProvider();
    expect((await begin(world.visitor())).status).toBe(200);
    expect((await world.visitor().get('/auth/methods')).json.openid).toEqual({ name: 'Example Inc' });
  });

  it('is asked by code with PKCE, state and nonce, and signs in each person that it verified, once and again', async () => {
    await startTheProvider();
    const { json } = await begin(world.visitor());
    const asked = new URL(json.url).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${world.origin}/v1/auth/callback/openid`,
    });
    for (const name of ['state', 'nonce', 'code_challenge']) expect(asked.get(name)?.length).toBeGreaterThan(20);
    expect(asked.get('scope')?.split(' ').sort()).toEqual(['email', 'openid', 'profile']);

    const { visitor, back } = await signInAs('ann@work.example');
    expect([back.status, back.headers.get('location')]).toEqual([302, '/']);
    const { user } = (await visitor.get('/auth/get-session')).json;
    expect(user).toMatchObject({ email: 'ann@work.example', emailVerified: true, name: 'Name of ann@work.example' });
    expect((await visitor.get('/keys')).status).toBe(200);
    const again = await signInAs('ann@work.example');
    expect((await again.visitor.get('/auth/get-session')).json.user.id).toBe(user.id);
    expect((await again.visitor.get('/auth/list-accounts')).json).toMatchObject([{ providerId: 'openid' }]);
  });

  it('leaves none of its tokens in the database', async () => {
    await startTheProvider();
    await signInAs('tokens@work.example');
    const { rows } = await world.pool.query<{ tokens: string | null }>(
      'select coalesce(access_token, refresh_token, id_token) as tokens from auth_account where provider_id = $1',
      ['openid'],
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ tokens }) => tokens !== null)).toEqual([]);
  });

  it('signs in to an existing account if both sides have verified the address, and to no other', async () => {
    await startTheProvider();
    const [ann, ben] = [await world.signUp('known@work.example'), await world.signUp('unproven@work.example')];
    await world.pool.query('update auth_user set email_verified = true where email = $1', [ann.email]);
    const linked = await signInAs(ann.email);
    const own = await signIn(world.visitor(), ann);
    const idOf = async (visitor: Visitor) => (await visitor.get('/auth/get-session')).json.user.id;
    expect(await idOf(linked.visitor)).toBe(await idOf(own));

    for (const email of [ben.email, 'unverified@work.example']) {
      const { back, visitor } = await signInAs(email);
      expect(back.status).toBe(302);
      expect(back.headers.get('location')).toMatch(/^\/sign-in\?error=/);
      expect(await sessionStatus(visitor)).toBe(401);
    }
    const { rowCount } = await world.pool.query("select 1 from auth_user where email = 'unverified@work.example'");
    expect(rowCount).toBe(0);
  });

  it('sends the owner of a disabled account back with the reason', async () => {
    await startTheProvider();
    await signInAs('disabled@work.example');
    await world.pool.query(
      "update accounts set disabled_at = now() where user_id = (select id from auth_user where email = 'disabled@work.example')",
    );
    const { back, visitor } = await signInAs('disabled@work.example');
    expect(back.headers.get('location')).toMatch(/^\/sign-in\?error=account_disabled/);
    expect(await sessionStatus(visitor)).toBe(401);
  });

  it('creates accounts only for those who may sign up, and signs in the others as before', async () => {
    await startTheProvider();
    await signInAs('early@work.example');
    const settings = { openid, origin: world.origin, signUp: { mode: 'invited' as const, domains: [] } };
    const invited = await world.another(settings);
    const [known, stranger] = [
      await signInAs('early@work.example', invited.visitor()),
      await signInAs('stranger@work.example', invited.visitor()),
    ];
    expect([known.back.status, known.back.headers.get('location')]).toEqual([302, '/']);
    expect(stranger.back.headers.get('location')).toMatch(/^\/sign-in\?error=sign_up_refused/);
    expect(await sessionStatus(stranger.visitor)).toBe(401);
    const { rowCount } = await world.pool.query("select 1 from auth_user where email = 'stranger@work.example'");
    expect(rowCount).toBe(0);
    await world.pool.query(
      `insert into sign_up_invitations (id, email, expires_at)
       values (gen_random_uuid(), 'stranger@work.example', now() + interval '1 day')`,
    );
    const welcome = await signInAs('stranger@work.example', invited.visitor());
    expect(await sessionStatus(welcome.visitor)).toBe(200);
  });

  it('is trusted only in the browser that started, only once, and only for its own answers', async () => {
    await startTheProvider();
    const { callback } = await signInAs('victim@work.example');
    const [before, stranger] = [callback, world.visitor()];
    for (const [visitor, path] of [
      [stranger, before],
      [stranger, '/auth/callback/openid?code=x&state=y'],
      [stranger, '/auth/callback/google?code=x&state=y'],
    ] as const) {
      const answer = await visitor.get(path);
      expect(answer.status).toBe(302);
      expect(answer.headers.get('location')).toContain('/sign-in?error=');
      expect(await sessionStatus(visitor)).toBe(401);
    }
    const visitor = world.visitor();
    who = 'victim@work.example';
    const { json } = await begin(visitor);
    const forged = new URL(await throughProvider(json.url));
    forged.searchParams.set('iss', 'https://elsewhere.example');
    const mixedUp = await visitor.get(forged.href.replace(/^.*\/v1\//, '/'));
    expect(mixedUp.headers.get('location')).toMatch(/^\/sign-in\?error=issuer_mismatch/);
    expect(await sessionStatus(visitor)).toBe(401);
  });

  it('redirects to no other site, and accepts no tokens from pages', async () => {
    await startTheProvider();
    for (const body of [
      { provider: 'openid', callbackURL: 'https://evil.example/' },
      { provider: 'openid', callbackURL: '//evil.example/' },
      { provider: 'openid', idToken: { token: 'x' } },
      { provider: 'openid', scopes: ['admin'] },
      { provider: 'google' },
    ]) {
      const answer = await world.visitor().post('/auth/sign-in/social', body);
      expect([400, 403]).toContain(answer.status);
    }
  });
});
