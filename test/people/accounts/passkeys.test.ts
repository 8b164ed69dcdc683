import { describe, expect, it } from 'vitest';
import { Authenticator } from '../../kit/authenticator.ts';
import { password } from '../../kit/signed-up.ts';
import { confirm, owner, register, registration, show, verified } from './people.ts';
import { sessionStatus, signIn, useWorld, type Visitor } from './world.ts';

const world = await useWorld();

describe('a passkey', () => {
  it('is added by the signed-in person, signs in alone, and can be named, listed and removed', async () => {
    const ann = await owner(world);
    const [listed] = (await ann.visitor.get('/auth/passkey/list-user-passkeys')).json;
    expect(listed).toMatchObject({ name: 'Laptop', credentialID: ann.key.id, deviceType: 'singleDevice' });

    const { visitor, answer } = await show(world, ann.key);
    expect(answer.status, answer.text).toBe(200);
    expect((await visitor.get('/auth/get-session')).json.user.email).toBe(ann.email);

    const { id } = listed;
    expect((await ann.visitor.post('/auth/passkey/update-passkey', { id, name: 'Phone' })).status).toBe(200);
    expect((await ann.visitor.get('/auth/passkey/list-user-passkeys')).json[0].name).toBe('Phone');
    expect((await ann.visitor.post('/auth/passkey/delete-passkey', { id })).status).toBe(200);
    expect((await show(world, ann.key)).answer.status).toBe(401);
  });

  it('is accepted only with a fingerprint or PIN, on our page, for our name, for the challenge of this browser, once', async () => {
    const ann = await owner(world);
    for (const how of [{ verified: false }, { origin: 'https://evil.example' }, { rpId: 'evil.example' }]) {
      const { visitor, answer } = await show(world, ann.key, how);
      expect([400, 401]).toContain(answer.status);
      expect(await sessionStatus(visitor)).toBe(401);
      expect(
        (await register(world, (await verified(world)).visitor, new Authenticator(), how)).status,
      ).toBeGreaterThanOrEqual(400);
    }
    const { visitor, response } = await show(world, ann.key);
    for (const who of [visitor, world.visitor()]) {
      expect((await who.post('/auth/passkey/verify-authentication', { response })).status).toBe(400);
    }
    // Another person's key under this person's name.
    const forged = {
      ...new Authenticator().assert('x', { origin: world.origin, rpId: 'localhost' }),
      id: ann.key.id,
      rawId: ann.key.id,
    };
    await visitor.get('/auth/passkey/generate-authenticate-options');
    expect((await visitor.post('/auth/passkey/verify-authentication', { response: forged })).status).toBe(400);
  });

  it('is not shown, named or removed by others', async () => {
    const [ann, eve] = [await owner(world), await verified(world)];
    const [{ id }] = (await ann.visitor.get('/auth/passkey/list-user-passkeys')).json;
    expect((await eve.visitor.get('/auth/passkey/list-user-passkeys')).json).toEqual([]);
    expect((await eve.visitor.post('/auth/passkey/delete-passkey', { id })).status).toBe(404);
    expect((await eve.visitor.post('/auth/passkey/update-passkey', { id, name: 'x' })).status).toBe(404);
    expect((await show(world, ann.key)).answer.status).toBe(200);
  });

  it('is not added by a session alone, such as a stolen cookie, however new', async () => {
    const ann = await verified(world);
    const refused = await ann.visitor.get('/auth/passkey/generate-register-options');
    expect([refused.status, refused.json.error.type]).toEqual([403, 'session_not_fresh']);
    expect((await ann.visitor.post('/auth/confirm-password', { password: 'not it' })).status).toBe(400);
    // While the owner is adding a passkey, the thief has the cookie, but not the page.
    const confirmation = await confirm(ann.visitor);
    const thief = world.visitor();
    for (const [name, value] of ann.visitor.cookies) thief.cookies.set(name, value);
    const body = await registration(world, thief, new Authenticator());
    for (const made of [body, { ...body, confirmation: '' }, { ...body, confirmation: 'x'.repeat(43) }]) {
      const answer = await thief.post('/auth/passkey/verify-registration', made);
      expect([answer.status, answer.json.error.type]).toEqual([403, 'session_not_fresh']);
    }
    const own = await registration(world, ann.visitor, new Authenticator());
    expect((await ann.visitor.post('/auth/passkey/verify-registration', { ...own, confirmation })).status).toBe(200);
    // A confirmation works once.
    expect((await ann.visitor.get('/auth/passkey/generate-register-options')).status).toBe(403);
  });

  it('is added only with a confirmation of the same session, within five minutes', async () => {
    const ann = await verified(world);
    const confirmation = await confirm(ann.visitor);
    const other = await signIn(world.visitor(), ann);
    await confirm(other);
    const body = await registration(world, other, new Authenticator());
    expect((await other.post('/auth/passkey/verify-registration', { ...body, confirmation })).status).toBe(403);
    await world.pool.query(
      `update auth_verification v set expires_at = v.expires_at - interval '5 minutes'
       from auth_user u where u.email = $1 and starts_with(v.value, u.id || ' fresh ')`,
      [ann.email],
    );
    expect((await ann.visitor.get('/auth/passkey/generate-register-options')).status).toBe(403);
  });

  it('is added without a password if the account has none and its person has just signed in', async () => {
    const ann = await owner(world);
    const { rows } = await world.pool.query<{ id: string }>('select id from auth_user where email = $1', [ann.email]);
    await world.pool.query('update auth_account set password = null where user_id = $1', [rows[0]?.id]);
    const { visitor } = await show(world, ann.key);
    expect((await visitor.post('/auth/confirm-password', { password })).status).toBe(400);
    const body = await registration(world, visitor, new Authenticator());
    expect((await visitor.post('/auth/passkey/verify-registration', body)).status).toBe(200);
    await world.pool.query("update auth_session set created_at = now() - interval '6 minutes' where user_id = $1", [
      rows[0]?.id,
    ]);
    const late = await visitor.get('/auth/passkey/generate-register-options');
    expect([late.status, late.json.error.type]).toEqual([403, 'session_not_fresh']);
  });

  it('reveals nothing to a stranger: the options do not depend on existing accounts', async () => {
    await owner(world);
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
