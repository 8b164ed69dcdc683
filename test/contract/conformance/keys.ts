import { keyAnswerSchema } from '@sotto/contract/control/keys';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { ask, bearer, flows, redeem } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { get, post, send } from '../../kit/send.ts';

const model = 'acme/small';
const hourMs = 3_600_000;
const inHours = (hours: number): string => new Date(Date.now() + hours * hourMs).toISOString();

/** Tests what a user may set on a key: whether it works, until when, for which models, how often, and with which secrets. */
export const keys: Concept = (suite) => {
  const people = peopleOf(suite);
  const { url } = people;

  describe('a key', () => {
    let ann: Person;
    let workspaceId = '';
    beforeAll(async () => {
      ann = await people.signUp();
      await people.fund(ann);
      workspaceId = await people.makeWorkspace(ann);
    });

    const create = async (rules: object = {}) => {
      const body = { name: 'x', kind: 'inference', workspace_id: workspaceId, ...rules };
      const answer = await post(url('/keys'), body, ann.session);
      expect(answer.status, answer.text).toBe(201);
      const { key = '', ...made } = keyAnswerSchema.parse(answer.json);
      return { ...made, key };
    };
    const patch = (id: string, body: object): Promise<Answer> =>
      send('PATCH', url(`/keys/${id}`), { headers: ann.session, body });
    const change = async (id: string, body: object) => {
      const answer = await patch(id, body);
      expect(answer.status, answer.text).toBe(200);
      return keyAnswerSchema.parse(answer.json);
    };
    const rotate = async (id: string, body: object = {}) => {
      const answer = await post(url(`/keys/${id}/rotate-secret`), body, ann.session);
      expect(answer.status, answer.text).toBe(200);
      expect(answer.headers.get('cache-control')).toContain('no-store');
      const { key = '', ...rotated } = keyAnswerSchema.parse(answer.json);
      return { ...rotated, key };
    };
    const present = (ticket: string): Promise<Answer> => redeem(suite.service, ticket, { model });
    const served = async (key: string): Promise<void> => {
      for (const flow of flows) {
        const answer = await ask(suite.service, key, { model }, { flow });
        expect(answer.status, answer.text).toBe(200);
      }
    };
    /** Expects that both origins refuse a key, and returns what control says. */
    const refused = async (key: string): Promise<string> => {
      expectError(await ask(suite.service, key, { model }), 401, 'invalid_api_key');
      expectError(await get(`${suite.service.baseUrl}/models`, bearer(key)), 401, 'invalid_api_key');
      const minted = await post(url('/inference/tickets'), { model }, bearer(key));
      expectError(minted, 401, 'invalid_api_key');
      return minted.text;
    };

    it('that is disabled is refused in both flows with its unused tickets, and works once it is enabled', async () => {
      const { id, key } = await create();
      await served(key);
      const { ticket } = await suite.service.mintTicket(key, { model });
      expect((await change(id, { disabled: true })).disabled_at).not.toBeNull();
      expect(await refused(key)).toContain('disabled');
      expectError(await present(ticket), 401, 'invalid_ticket');
      expect((await change(id, { disabled: false })).disabled_at).toBeNull();
      await served(key);
      expectError(await present(ticket), 401, 'invalid_ticket');
    });

    it('for management that is disabled reads nothing until it is enabled', async () => {
      const { id, key } = await create({ kind: 'management' });
      await change(id, { disabled: true });
      expectError(await get(url('/balance'), bearer(key)), 401, 'invalid_api_key');
      await change(id, { disabled: false });
      expect((await get(url('/balance'), bearer(key))).status).toBe(200);
    });

    it('that has expired is refused in both flows with its unused tickets, and works once its expiry is later', async () => {
      const expires_at = inHours(1);
      const { id, key, ...made } = await create({ expires_at });
      expect(made.expires_at).toBe(expires_at);
      await served(key);
      const { ticket } = await suite.service.mintTicket(key, { model });
      await suite.service.pool.query(
        "update api_keys set expires_at = now() - interval '1 s', generation = generation + 1 where id = $1",
        [id],
      );
      // Control projects the key with the change of its name.
      await change(id, { name: 'y' });
      expect(await refused(key)).toContain('expired');
      expectError(await present(ticket), 401, 'invalid_ticket');
      await change(id, { expires_at: null });
      await served(key);
    });

    it('with allowed models names no other model, which costs nothing and reaches no provider', async () => {
      const { id, key } = await create({ allowed_models: ['acme/plain', 'acme/plain'] });
      const refusals = [
        await ask(suite.service, key, { model }),
        await ask(suite.service, key, { model: 'acme/plain', models: [model] }),
        await ask(suite.service, key, { model: '/auto' }),
        await post(url('/inference/tickets'), { model }, bearer(key)),
        await post(url('/inference/tickets'), { model: 'acme/plain', models: [model] }, bearer(key)),
      ];
      for (const answer of refusals) {
        expectError(answer, 403, 'insufficient_scope');
        expect(answer.text).toContain('acme/plain');
      }
      expect(suite.asked).toBe(0);
      for (const flow of flows) {
        expect((await ask(suite.service, key, { model: 'acme/plain:floor' }, { flow })).status).toBe(200);
      }
      for (const origin of [url(''), suite.service.baseUrl]) {
        const { json } = await get(`${origin}/models`, bearer(key));
        expect((json as { data: { id: string }[] }).data.map((each) => each.id)).toEqual(['acme/plain']);
      }
      expect((await change(id, { allowed_models: [model, '/auto'] })).allowed_models).toEqual([model, '/auto']);
      await served(key);
      expect((await ask(suite.service, key, { model: '/auto' })).status).toBe(200);
      await change(id, { allowed_models: null });
      expect((await ask(suite.service, key, { model: 'acme/plain' })).status).toBe(200);
    });

    it('with a rate limit of its own says so in both flows', async () => {
      const { id, key } = await create({ requests_per_minute: 40, tokens_per_minute: 5000 });
      for (const flow of flows) {
        const { headers } = await ask(suite.service, key, { model }, { flow });
        expect(headers.get('x-ratelimit-limit-requests')).toBe('40');
        expect(headers.get('x-ratelimit-limit-tokens')).toBe('5000');
      }
      await change(id, { requests_per_minute: 1, tokens_per_minute: null });
      let answer = await ask(suite.service, key, { model });
      // Unless a minute begins between the two, this is the second of its minute.
      if (answer.status === 200) answer = await ask(suite.service, key, { model });
      expectError(answer, 429, 'rate_limited');
    });

    it('that is rotated works with both secrets, as one key, and each is shown once', async () => {
      const { id, key: first } = await create({ credit_limit_usd: 1 });
      const { key: second, ...rotated } = await rotate(id, { overlap_hours: 2 });
      expect(second).not.toBe(first);
      expect(rotated.id).toBe(id);
      expect(rotated.preview.slice(-4)).toBe(second.slice(-4));
      expect(rotated.old_secrets).toHaveLength(1);
      expect(rotated.old_secrets[0]?.preview.slice(-4)).toBe(first.slice(-4));
      const ends = Date.parse(rotated.old_secrets[0]?.ends_at ?? '') - Date.now();
      expect(Math.round(ends / hourMs)).toBe(2);
      const listed = await get(url('/keys'), ann.session);
      expect(listed.text).not.toContain(first);
      expect(listed.text).not.toContain(second);
      await served(first);
      await served(second);
      expect((await get(url('/models'), bearer(first))).status).toBe(200);
      // Disabling concerns the key, not a secret.
      await change(id, { disabled: true });
      await refused(first);
      await refused(second);
      await change(id, { disabled: false });
      await served(second);
    });

    it('that is rotated without an overlap refuses the old secret and its tickets at once', async () => {
      const { id, key: first } = await create();
      const { ticket } = await suite.service.mintTicket(first, { model });
      const { key: second, old_secrets } = await rotate(id, { overlap_hours: 0 });
      expect(old_secrets).toEqual([]);
      await refused(first);
      expectError(await present(ticket), 401, 'invalid_ticket');
      await served(second);
    });

    it('that is rotated twice keeps what each overlap promised, and a later overlap of 0 ends them all', async () => {
      const { id, key: first } = await create();
      const { key: second } = await rotate(id, { overlap_hours: 1 });
      const third = await rotate(id, { overlap_hours: 48 });
      for (const key of [first, second, third.key]) await served(key);
      const ends = third.old_secrets.map(({ ends_at }) => Math.round((Date.parse(ends_at) - Date.now()) / hourMs));
      expect(ends).toEqual([1, 48]);
      const fourth = await rotate(id, { overlap_hours: 0 });
      for (const key of [first, second, third.key]) await refused(key);
      await served(fourth.key);
      for (let more = 0; more < 4; more += 1) await rotate(id);
      const path = url(`/keys/${id}/rotate-secret`);
      expectError(await post(path, {}, ann.session), 409, 'conflict');
      await rotate(id, { overlap_hours: 0 });
    });

    it('that is revoked is refused with every secret, also where both happened at once', async () => {
      const { id, key: first } = await create();
      const { key: second } = await rotate(id);
      const path = url(`/keys/${id}`);
      const [raced, revoked] = await Promise.all([
        post(`${path}/rotate-secret`, {}, ann.session),
        send('DELETE', path, { headers: ann.session }),
      ]);
      expect(revoked.status).toBe(204);
      expect([200, 404]).toContain(raced.status);
      const third = raced.status === 200 ? (keyAnswerSchema.parse(raced.json).key ?? '') : '';
      for (const key of [first, second, third].filter((each) => each !== '')) await refused(key);
      expectError(await post(`${path}/rotate-secret`, {}, ann.session), 404, 'not_found');
      expectError(await patch(id, { disabled: false }), 404, 'not_found');
    });

    it.each<[string, object, string]>([
      ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
      ['an expiry that is no time', { expires_at: 'tomorrow' }, 'expires_at'],
      ['a model that is not there', { allowed_models: ['acme/nothing'] }, 'allowed_models'],
      ['no model at all', { allowed_models: [] }, 'allowed_models'],
      ['no requests at all', { requests_per_minute: 0 }, 'requests_per_minute'],
      ['more requests than the deployment allows', { requests_per_minute: 2_000_000_000 }, 'requests_per_minute'],
      ['more tokens than the deployment allows', { tokens_per_minute: Number.MAX_SAFE_INTEGER }, 'tokens_per_minute'],
    ])('with %s is refused by name', async (_, rules, param) => {
      const { id } = await create();
      const body = { name: 'x', kind: 'inference', workspace_id: workspaceId, ...rules };
      for (const answer of [await post(url('/keys'), body, ann.session), await patch(id, rules)]) {
        expectError(answer, 400, 'invalid_request');
        expect(answer.text).toContain(param);
      }
    });

    it.each([[{ overlap_hours: -1 }], [{ overlap_hours: 169 }], [{ overlap_hours: '1' }], [{ hours: 1 }]])(
      'is not rotated with %j',
      async (body) => {
        const { id, key } = await create();
        expectError(await post(url(`/keys/${id}/rotate-secret`), body, ann.session), 400, 'invalid_request');
        await served(key);
      },
    );

    it('for management has no allowed models', async () => {
      const { id } = await create({ kind: 'management' });
      expectError(await patch(id, { allowed_models: [model] }), 400, 'invalid_request');
    });
  });
};
