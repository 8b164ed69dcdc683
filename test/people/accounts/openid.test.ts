import { freePort } from '@sotto/test-servers';
import { afterAll, describe, expect, it } from 'vitest';
import { type OpenidServer, openidAt, startProvider, throughProvider } from './openid-server.ts';
import { type Answer, sessionStatus, signIn, useWorld, type Visitor } from './world.ts';

let provider: OpenidServer | undefined;
let who = '';

const issuerPort = await freePort();
const openid = openidAt(issuerPort);
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
