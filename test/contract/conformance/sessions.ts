import { randomUUID } from 'node:crypto';
import { keyAnswerSchema, keyListAnswerSchema } from '@sotto/contract/control/keys';
import { balanceAnswerSchema, usagePageSchema } from '@sotto/contract/control/usage';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, bearer, flows, redeem } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectCallersFault, expectError } from '../../kit/expect-error.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { get, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';

const model = 'acme/small';

/** Tests sessions as far as keys, balance and usage need them. */
export const sessions: Concept = (suite) => {
  const { url, signIn, signUp, fund } = peopleOf(suite);
  const makeKey = async ({ session }: Person, body: object) => {
    const answer = await post(url('/keys'), body, session);
    expect(answer.status, answer.text).toBe(201);
    expect(answer.headers.get('cache-control')).toContain('no-store');
    const { key = '', ...made } = keyAnswerSchema.parse(answer.json);
    return { ...made, key };
  };
  const modelsStatus = async (key: string): Promise<number> =>
    (await get(`${suite.service.baseUrl}/models`, bearer(key))).status;
  const availableOf = async ({ session }: Person): Promise<number> =>
    balanceAnswerSchema.parse((await get(url('/balance'), session)).json).available;
  const usable = (key: string) => until(async () => (await modelsStatus(key)) === 200, 'the key is usable');

  describe('a user with a session', () => {
    let ann: Person;
    let ben: Person;

    beforeAll(async () => {
      ann = await signUp();
      ben = await signUp();
      await fund(ann);
    });

    it('the cookie is HttpOnly, SameSite=Lax, and not Secure on loopback', async () => {
      const { headers } = await post(url('/auth/sign-in/email'), { email: ann.email, password: ann.password });
      const cookies = headers.getSetCookie().filter((cookie) => /session/i.test(cookie));
      expect(cookies).not.toHaveLength(0);
      for (const cookie of cookies) {
        expect(cookie).toMatch(/; *HttpOnly/i);
        expect(cookie).toMatch(/; *SameSite=Lax/i);
        expect(cookie).not.toMatch(/; *Secure/i);
      }
    });

    it('a wrong password does not create a session', async () => {
      const answer = await post(url('/auth/sign-in/email'), { email: ann.email, password: 'wrong-password' });
      expect(answer.status).toBe(401);
      expect(answer.headers.getSetCookie()).toEqual([]);
    });

    it('get-session returns the signed-in user, and sign-out ends the session', async () => {
      const session = await signIn(ann);
      const told = await get(url('/auth/get-session'), session);
      expect(told.json).toMatchObject({ user: { email: ann.email } });
      const { origin } = new URL(url(''));
      expect((await post(url('/auth/sign-out'), {}, { ...session, origin })).status).toBe(200);
      expectError(await get(url('/keys'), session), 401, 'unauthenticated');
    });

    it('keys need a session', async () => {
      for (const headers of [{}, { cookie: 'sotto.session_token=forged.abc' }]) {
        expect((await get(url('/keys'), headers)).status).toBe(401);
        expect((await post(url('/keys'), { name: 'x', kind: 'inference' }, headers)).status).toBe(401);
      }
      const byKey = bearer(suite.account.managementKey);
      expectError(await get(url('/keys'), byKey), 403, 'insufficient_scope');
      expectError(await post(url('/keys'), { name: 'x', kind: 'inference' }, byKey), 403, 'insufficient_scope');
    });

    it('a key is shown once, at its creation, and works at once in both flows', async () => {
      const made = await makeKey(ann, { name: 'first', kind: 'inference' });
      expect(made.key).toMatch(/^sotto_inf_/);
      expect(made).toMatchObject({ name: 'first', kind: 'inference', openai_compatible: true, credit_limit_usd: null });
      const listed = await get(url('/keys'), ann.session);
      const { data } = keyListAnswerSchema.parse(listed.json);
      expect(data.find(({ id }) => id === made.id)).toMatchObject({ name: 'first', revoked_at: null });
      expect(listed.text).not.toContain(made.key);
      for (const entry of data) expect(entry.key).toBeUndefined();
      expect(listed.headers.get('cache-control')).toContain('no-store');
      await usable(made.key);
      for (const flow of flows) {
        const answer = await ask(suite.service, made.key, { model }, { flow });
        expect(answer.status, answer.text).toBe(200);
      }
    });

    it('a key created without compatibility access can get it later', async () => {
      const made = await makeKey(ann, { name: 'tickets only', kind: 'inference', openai_compatible: false });
      expect(made.openai_compatible).toBe(false);
      await until(async () => (await modelsStatus(made.key)) === 403, 'the key is known');
      expectError(await ask(suite.service, made.key, { model }), 403, 'compatibility_access_disabled');
      expect((await ask(suite.service, made.key, { model }, { flow: 'ticket' })).status).toBe(200);
      const changed = await send('PATCH', url(`/keys/${made.id}`), {
        headers: ann.session,
        body: { openai_compatible: true, name: 'renamed' },
      });
      expect(changed.status, changed.text).toBe(200);
      expect(keyAnswerSchema.parse(changed.json)).toMatchObject({ name: 'renamed', openai_compatible: true });
      expect(changed.text).not.toContain(made.key);
      await usable(made.key);
      expect((await ask(suite.service, made.key, { model })).status).toBe(200);
    });

    it('a renamed key keeps the tickets it bought', async () => {
      const made = await makeKey(ann, { name: 'old', kind: 'inference' });
      await usable(made.key);
      const { ticket } = await suite.service.mintTicket(made.key, { model });
      const changed = await send('PATCH', url(`/keys/${made.id}`), { headers: ann.session, body: { name: 'new' } });
      expect(changed.status, changed.text).toBe(200);
      // Brokers receive changes of an account in order, so once this key works they know the new name.
      const other = await makeKey(ann, { name: 'other', kind: 'inference' });
      await usable(other.key);
      const answer = await redeem(suite.service, ticket, { model });
      expect(answer.status, answer.text).toBe(200);
    });

    it('a credit limit set on a key holds', async () => {
      const made = await makeKey(ann, { name: 'limited', kind: 'inference', credit_limit_usd: 0.000001 });
      expect(made.credit_limit_usd).toBe(0.000001);
      await usable(made.key);
      for (const flow of flows) {
        const answer = await ask(suite.service, made.key, { model }, { flow });
        expect(answer.status, answer.text).toBe(402);
      }
      const changed = await send('PATCH', url(`/keys/${made.id}`), {
        headers: ann.session,
        body: { credit_limit_usd: 1 },
      });
      expect(changed.status, changed.text).toBe(200);
      await until(
        async () => (await ask(suite.service, made.key, { model })).status === 200,
        'the higher limit is in force',
      );
    });

    it('a revoked key is 401 everywhere, and its tickets are invalid', async () => {
      const made = await makeKey(ann, { name: 'doomed', kind: 'inference' });
      await usable(made.key);
      const { ticket } = await suite.service.mintTicket(made.key, { model });
      const revoked = await send('DELETE', url(`/keys/${made.id}`), { headers: ann.session });
      expect([200, 204]).toContain(revoked.status);
      expectError(await get(url('/models'), bearer(made.key)), 401, 'invalid_api_key');
      expectError(await post(url('/inference/tickets'), { model }, bearer(made.key)), 401, 'invalid_api_key');
      await until(async () => (await modelsStatus(made.key)) === 401, 'the broker knows');
      expectError(await ask(suite.service, made.key, { model }), 401, 'invalid_api_key');
      expectError(await redeem(suite.service, ticket, { model }), 401, 'invalid_ticket');
    });

    it('a new management key can read balance and usage, and nothing else', async () => {
      const made = await makeKey(ann, { name: 'reader', kind: 'management' });
      expect(made.key).toMatch(/^sotto_mgt_/);
      expect((await get(url('/balance'), bearer(made.key))).status).toBe(200);
      expect((await get(url('/usage'), bearer(made.key))).status).toBe(200);
      expectError(await post(url('/inference/tickets'), { model }, bearer(made.key)), 403, 'insufficient_scope');
    });

    it('a session reads balance and usage of its own account', async () => {
      expect(balanceAnswerSchema.parse((await get(url('/balance'), ben.session)).json)).toEqual({
        currency: 'USD',
        available: 0,
        reserved: 0,
      });
      expect(await availableOf(ann)).toBeGreaterThan(4);
      const made = await makeKey(ann, { name: 'spender', kind: 'inference' });
      await usable(made.key);
      expect((await ask(suite.service, made.key, { model })).status).toBe(200);
      await until(
        async () =>
          usagePageSchema
            .parse((await get(url('/usage'), ann.session)).json)
            .data.some(({ key_id }) => key_id === made.id),
        'the usage is there',
      );
      expect(usagePageSchema.parse((await get(url('/usage'), ben.session)).json).data).toEqual([]);
    });

    it('a user cannot see or change the keys of another user', async () => {
      const made = await makeKey(ann, { name: 'private', kind: 'inference' });
      const { data } = keyListAnswerSchema.parse((await get(url('/keys'), ben.session)).json);
      expect(data.map(({ id }) => id)).not.toContain(made.id);
      const path = url(`/keys/${made.id}`);
      expectError(await send('PATCH', path, { headers: ben.session, body: { name: 'mine' } }), 404, 'not_found');
      expectError(await send('DELETE', path, { headers: ben.session }), 404, 'not_found');
      const elsewhere = { name: 'x', kind: 'inference', workspace_id: made.workspace_id };
      expectCallersFault(await post(url('/keys'), elsewhere, ben.session));
      await usable(made.key);
    });

    it('a page of another site can neither create nor revoke keys (CSRF)', async () => {
      const made = await makeKey(ann, { name: 'target', kind: 'inference' });
      const foreign = { ...ann.session, origin: 'https://evil.example' };
      expectError(await post(url('/keys'), { name: 'x', kind: 'inference' }, foreign), 403, 'forbidden');
      expectError(await send('DELETE', url(`/keys/${made.id}`), { headers: foreign }), 403, 'forbidden');
      // An HTML form can send this content type without a CORS preflight.
      const form = { ...foreign, 'content-type': 'text/plain' };
      expectCallersFault(await post(url('/keys'), '{"name":"x","kind":"inference"}', form));
      await usable(made.key);
    });

    it.each<[string, unknown]>([
      ['no name', { kind: 'inference' }],
      ['an unknown kind', { name: 'x', kind: 'root' }],
      ['an unknown field', { name: 'x', kind: 'inference', admin: true }],
      ['a limit below zero', { name: 'x', kind: 'inference', credit_limit_usd: -1 }],
      ['a limit beyond all money', { name: 'x', kind: 'inference', credit_limit_usd: 1e300 }],
      ['a workspace that is no id', { name: 'x', kind: 'inference', workspace_id: "' or 1=1" }],
      ['a workspace that is not there', { name: 'x', kind: 'inference', workspace_id: randomUUID() }],
      ['a NUL in the name', { name: 'x\0y', kind: 'inference' }],
      ['a lone surrogate in the name', '{"name":"\\ud800","kind":"inference"}'],
      ['a name without end', { name: 'x'.repeat(100_000), kind: 'inference' }],
      ['a list', []],
    ])('creating a key with %s is a clear 4xx', async (what, body) => {
      const answer = await post(url('/keys'), body, ann.session);
      if (what === 'a lone surrogate in the name' && answer.status === 201) return;
      expectCallersFault(answer);
    });

    it.each(['x', '%00', '%ff', '..%2f..%2fetc', randomUUID()])('the unknown key id %j is a clear 4xx', async (id) => {
      expectCallersFault(await send('PATCH', url(`/keys/${id}`), { headers: ann.session, body: { name: 'x' } }));
      expectCallersFault(await send('DELETE', url(`/keys/${id}`), { headers: ann.session }));
    });

    it.each<[string, unknown]>([
      ['a NUL in the name', { name: 'x\0y', email: `${randomUUID()}@x.example`, password: 'long-enough-1' }],
      ['a NUL in the address', { name: 'x', email: `a\0b@x.example`, password: 'long-enough-1' }],
      ['no address', { name: 'x', password: 'long-enough-1' }],
      ['an address that is none', { name: 'x', email: 'nope', password: 'long-enough-1' }],
      ['a password that is a list', { name: 'x', email: `${randomUUID()}@x.example`, password: ['a'] }],
      ['malformed JSON', '{"name":'],
      ['null', 'null'],
    ])('signing up with %s is a 4xx', async (_, body) => {
      const answer = await post(url('/auth/sign-up/email'), body);
      expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
      expect(answer.status, answer.text).toBeLessThan(500);
    });
  });
};
