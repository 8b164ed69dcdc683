import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authenticator, type Presence } from './authenticator.ts';
import { type AccountsWorld, openWorld, type Person, sessionStatus, signIn, type Visitor } from './world.ts';

let world: AccountsWorld;
let presence: Presence;
beforeAll(async () => {
  world = await openWorld();
  // An address is no id for a browser: of 127.0.0.1 it is `localhost`.
  presence = { origin: world.origin, rpId: 'localhost' };
});
afterAll(async () => {
  await world?.stop();
});

interface Owner extends Person {
  readonly visitor: Visitor;
  readonly key: Authenticator;
}

async function verified(): Promise<Person & { readonly visitor: Visitor }> {
  const person = await world.signUp();
  await world.pool.query('update auth_user set email_verified = true where email = $1', [person.email]);
  return { ...person, visitor: await signIn(world.visitor(), person) };
}

async function register(visitor: Visitor, key: Authenticator, how: Partial<Presence> = {}) {
  const options = await visitor.get('/auth/passkey/generate-register-options');
  expect(options.status, options.text).toBe(200);
  const response = key.register(options.json.challenge, { ...presence, ...how });
  return visitor.post('/auth/passkey/verify-registration', { response, name: 'Laptop' });
}

async function owner(): Promise<Owner> {
  const [person, key] = [await verified(), new Authenticator()];
  const made = await register(person.visitor, key);
  expect(made.status, made.text).toBe(200);
  return { ...person, key };
}

async function show(key: Authenticator, how: Partial<Presence> = {}, visitor = world.visitor()) {
  const options = await visitor.get('/auth/passkey/generate-authenticate-options');
  const response = key.assert(options.json.challenge, { ...presence, ...how });
  return { visitor, response, answer: await visitor.post('/auth/passkey/verify-authentication', { response }) };
}

describe('a passkey', () => {
  it('is added by whoever is signed in, signs in alone, and can be named, listed and removed', async () => {
    const ann = await owner();
    const [listed] = (await ann.visitor.get('/auth/passkey/list-user-passkeys')).json;
    expect(listed).toMatchObject({ name: 'Laptop', credentialID: ann.key.id, deviceType: 'singleDevice' });

    const { visitor, answer } = await show(ann.key);
    expect(answer.status, answer.text).toBe(200);
    expect((await visitor.get('/auth/get-session')).json.user.email).toBe(ann.email);

    const { id } = listed;
    expect((await ann.visitor.post('/auth/passkey/update-passkey', { id, name: 'Phone' })).status).toBe(200);
    expect((await ann.visitor.get('/auth/passkey/list-user-passkeys')).json[0].name).toBe('Phone');
    expect((await ann.visitor.post('/auth/passkey/delete-passkey', { id })).status).toBe(200);
    expect((await show(ann.key)).answer.status).toBe(401);
  });

  it('counts only with a fingerprint or PIN, on our page, for our name, for the challenge of this browser, once', async () => {
    const ann = await owner();
    for (const how of [{ verified: false }, { origin: 'https://evil.example' }, { rpId: 'evil.example' }]) {
      const { visitor, answer } = await show(ann.key, how);
      expect([400, 401]).toContain(answer.status);
      expect(await sessionStatus(visitor)).toBe(401);
      expect((await register((await verified()).visitor, new Authenticator(), how)).status).toBeGreaterThanOrEqual(400);
    }
    const { visitor, response } = await show(ann.key);
    for (const who of [visitor, world.visitor()]) {
      expect((await who.post('/auth/passkey/verify-authentication', { response })).status).toBe(400);
    }
    // Somebody else's key under this one's name.
    const forged = { ...new Authenticator().assert('x', presence), id: ann.key.id, rawId: ann.key.id };
    await visitor.get('/auth/passkey/generate-authenticate-options');
    expect((await visitor.post('/auth/passkey/verify-authentication', { response: forged })).status).toBe(400);
  });

  it('is not shown, named or removed by others', async () => {
    const [ann, eve] = [await owner(), await verified()];
    const [{ id }] = (await ann.visitor.get('/auth/passkey/list-user-passkeys')).json;
    expect((await eve.visitor.get('/auth/passkey/list-user-passkeys')).json).toEqual([]);
    expect((await eve.visitor.post('/auth/passkey/delete-passkey', { id })).status).toBe(404);
    expect((await eve.visitor.post('/auth/passkey/update-passkey', { id, name: 'x' })).status).toBe(404);
    expect((await show(ann.key)).answer.status).toBe(200);
  });

  it('is not added by an old session, such as a cookie that was stolen long ago', async () => {
    const ann = await verified();
    await world.pool.query("update auth_session set created_at = now() - interval '61 minutes'");
    const refused = await ann.visitor.get('/auth/passkey/generate-register-options');
    expect([refused.status, refused.json.error.type]).toEqual([403, 'session_not_fresh']);
    await signIn(ann.visitor, ann);
    expect((await register(ann.visitor, new Authenticator())).status).toBe(200);
  });

  it('tells a stranger nothing: the options are the same whoever there is', async () => {
    await owner();
    const [first, second] = [world.visitor(), world.visitor()];
    const shape = async (visitor: Visitor) => {
      const { json } = await visitor.get('/auth/passkey/generate-authenticate-options');
      return { ...json, challenge: json.challenge.length };
    };
    expect(await shape(first)).toEqual(await shape(second));
    expect(Object.keys(await shape(first))).not.toContain('allowCredentials');
  });

  it.each<[string, unknown]>([
    ['nothing', {}],
    ['a list for an id', { response: { id: ['x'], rawId: 'x' } }],
    ['a NUL', { response: { id: 'a\0', rawId: 'x' } }],
    ['no response', { response: null }],
  ])('that is %s is a clear 400', async (_, body) => {
    const visitor = world.visitor();
    await visitor.get('/auth/passkey/generate-authenticate-options');
    const answer = await visitor.post('/auth/passkey/verify-authentication', body);
    expect([answer.status, answer.json.error.type]).toEqual([400, 'invalid_request']);
  });
});
