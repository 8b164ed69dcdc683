import { keyAnswerSchema } from '@sotto/contract/control/keys';
import { type WorkspacePolicyAnswer, workspacePolicySchema } from '@sotto/contract/control/policies';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { Browser } from '../../kit/browser.ts';
import { ask, bearer, flows, redeem } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import {
  allowed,
  clientOf,
  connect,
  consentTo,
  grantsOf,
  newApp,
  oauthError,
  signIn,
  start,
  tokenStatus,
} from '../../kit/connected-apps.ts';
import { expectError } from '../../kit/expect-error.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { get, post, send } from '../../kit/send.ts';

const model = 'acme/small';
const dayMs = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * dayMs).toISOString();
const open: WorkspacePolicyAnswer = {
  allowed_models: null,
  max_key_limit_usd: null,
  max_key_days: null,
  openai_compatible: true,
};

/** Tests what an admin can impose on the keys of members: the policy of a workspace, and locks on single keys. */
export const policies: Concept = (suite) => {
  const people = peopleOf(suite);
  const { url } = people;
  let owner: Person;
  let admin: Person;
  let member: Person;
  let workspaceId = '';

  beforeAll(async () => {
    owner = await people.signUp();
    await people.fund(owner);
    workspaceId = await people.makeWorkspace(owner);
    [admin, member] = [await people.join(owner, workspaceId, 'admin'), await people.join(owner, workspaceId, 'member')];
  });

  const tryPolicy = (changes: object, { session } = admin): Promise<Answer> =>
    send('PUT', url(`/workspaces/${workspaceId}/policy`), { headers: session, body: { ...open, ...changes } });
  const setPolicy = async (changes: Partial<WorkspacePolicyAnswer>): Promise<void> => {
    const answer = await tryPolicy(changes);
    expect(answer.status, answer.text).toBe(200);
    expect(workspacePolicySchema.parse(answer.json)).toEqual({ ...open, ...changes });
  };
  const tryCreate = (rules: object, { session } = member): Promise<Answer> =>
    post(url('/keys'), { name: 'x', kind: 'inference', workspace_id: workspaceId, ...rules }, session);
  const create = async (rules: object = {}, who = member) => {
    const answer = await tryCreate(rules, who);
    expect(answer.status, answer.text).toBe(201);
    const { key = '', ...made } = keyAnswerSchema.parse(answer.json);
    return { ...made, key };
  };
  const patch = (id: string, body: object, { session } = member): Promise<Answer> =>
    send('PATCH', url(`/keys/${id}`), { headers: session, body });
  const change = async (id: string, body: object, who = member) => {
    const answer = await patch(id, body, who);
    expect(answer.status, answer.text).toBe(200);
    return keyAnswerSchema.parse(answer.json);
  };
  const listed = async (id: string) => {
    const { json } = await get(url(`/keys?workspace_id=${workspaceId}`), member.session);
    const found = (json as { data: { id: string }[] }).data.find((key) => key.id === id);
    return keyAnswerSchema.parse(found);
  };
  const previewed = async (asked: string): Promise<unknown> =>
    (await post(url('/routing/preview'), { model: asked, workspace_id: workspaceId }, member.session)).json;
  const served = async (key: string, body: object = { model }): Promise<void> => {
    for (const flow of flows) {
      const answer = await ask(suite.service, key, body, { flow });
      expect(answer.status, answer.text).toBe(200);
    }
  };
  /** Expects that both flows refuse a key, and that no provider is asked. */
  const refused = async (key: string, status: number, type: string, body: object = { model }): Promise<void> => {
    const asked = suite.asked;
    for (const flow of flows) expectError(await ask(suite.service, key, body, { flow }), status, type);
    expect(suite.asked).toBe(asked);
  };

  describe('an admin who restricts the key of a member', () => {
    it.each<[object, object, number, string]>([
      [{ allowed_models: ['acme/plain'] }, { allowed_models: null }, 403, 'insufficient_scope'],
      [{ allowed_models: ['acme/plain'] }, { allowed_models: ['acme/*'] }, 403, 'insufficient_scope'],
      [{ credit_limit_usd: 0 }, { credit_limit_usd: null }, 402, 'insufficient_balance'],
      [{ credit_limit_usd: 0 }, { credit_limit_usd: 5 }, 402, 'insufficient_balance'],
      [{ disabled: true }, { disabled: false }, 401, 'invalid_api_key'],
    ])(
      'with %j is not overruled by the member who sends %j, until the admin frees it',
      async (rule, loose, ...error) => {
        const { id, key } = await create();
        await served(key);
        const [field = ''] = Object.keys(rule);
        expect((await change(id, rule, admin)).locked).toEqual([field]);
        await refused(key, ...error);
        const answer = await patch(id, { name: 'y', ...loose });
        expectError(answer, 403, 'forbidden');
        expect((answer.json as { error: { param: string } }).error.param).toBe(field);
        expect((await listed(id)).name).toBe('x');
        // A new secret opens the same key.
        const rotated = await post(url(`/keys/${id}/rotate-secret`), { overlap_hours: 1 }, member.session);
        const { key: secret = '', locked } = keyAnswerSchema.parse(rotated.json);
        expect(locked).toEqual([field]);
        await refused(secret, ...error);
        // The member keeps the rest of the key.
        expect((await change(id, { name: 'z', requests_per_minute: 100 })).locked).toEqual([field]);
        const freed = field === 'disabled' ? { disabled: false } : { [field]: null };
        expect((await change(id, freed, admin)).locked).toEqual([]);
        await served(secret);
        await change(id, loose);
      },
    );

    it('locks compatibility access, the expiry, the rate limits and the tag, too', async () => {
      const { id } = await create();
      const rules = {
        openai_compatible: false,
        expires_at: inDays(1),
        requests_per_minute: 9,
        tokens_per_minute: 9000,
        tag: 'cost centre 7',
      };
      expect((await change(id, rules, owner)).locked).toEqual(Object.keys(rules));
      for (const field of Object.keys(rules)) {
        const value = field === 'openai_compatible' ? true : null;
        expectError(await patch(id, { [field]: value }), 403, 'forbidden');
      }
      expect(await listed(id)).toMatchObject(rules);
    });

    it('may still be an admin who changes their own key', async () => {
      const { id, key } = await create({}, admin);
      expect((await change(id, { credit_limit_usd: 0 }, owner)).locked).toEqual(['credit_limit_usd']);
      expect((await change(id, { credit_limit_usd: null }, admin)).credit_limit_usd).toBeNull();
      await served(key);
      expect((await change(id, { credit_limit_usd: 3 }, admin)).credit_limit_usd).toBe(3);
    });

    it('and the member at the same time: whichever comes first, the restriction stays', async () => {
      // The member's change waits for the lock of the workspace, and then sees the admin's, or comes before it.
      for (let round = 0; round < 5; round += 1) {
        const { id } = await create();
        await Promise.all([change(id, { credit_limit_usd: 1 }, admin), patch(id, { credit_limit_usd: 4 })]);
        expect(await listed(id)).toMatchObject({ credit_limit_usd: 1, locked: ['credit_limit_usd'] });
      }
    });
  });

  describe('the policy of a workspace', () => {
    it('bounds nothing at first, is read by members, and is set by admins only', async () => {
      const { json } = await get(url(`/workspaces/${workspaceId}/policy`), member.session);
      expect(workspacePolicySchema.parse(json)).toEqual(open);
      expectError(await tryPolicy({ max_key_days: 1 }, member), 403, 'forbidden');
    });

    it.each<[string, object, string]>([
      ['a pattern that no model matches', { allowed_models: ['acme/*', 'acmee/*'] }, 'allowed_models'],
      ['no models', { allowed_models: [] }, 'allowed_models'],
      ['a negative limit', { max_key_limit_usd: -1 }, 'max_key_limit_usd'],
      ['ten decimals', { max_key_limit_usd: 0.1234567891 }, 'max_key_limit_usd'],
      ['no day', { max_key_days: 0 }, 'max_key_days'],
      ['half a day', { max_key_days: 0.5 }, 'max_key_days'],
      ['a missing field, which would loosen it unseen', { openai_compatible: undefined }, 'openai_compatible'],
      ['an unknown field', { models: ['acme/*'] }, 'models'],
    ])('with %s is refused by name', async (_, changes, param) => {
      const answer = await tryPolicy(changes);
      expectError(answer, 400, 'invalid_request');
      expect(answer.text).toContain(param);
    });

    it('allows models by patterns, for keys of all roles, new and old, in both flows, and no ticket survives it', async () => {
      const [older, listing, ofOwner] = [
        await create(),
        await create({ allowed_models: ['acme/*', 'beta/chat', '/auto'] }),
        await create({}, owner),
      ];
      const { ticket } = await suite.service.mintTicket(older.key, { model: 'beta/chat' });
      await setPolicy({ allowed_models: ['acme/s*', 'acme/plain'] });
      expectError(await redeem(suite.service, ticket, { model: 'beta/chat' }), 401, 'invalid_ticket');
      const newer = await create({ allowed_models: ['acme/*'] });
      for (const { key } of [older, listing, ofOwner, newer]) {
        await served(key);
        await served(key, { model: 'acme/seeing:floor' });
        for (const body of [{ model: 'beta/chat' }, { model: 'acme/thinker' }, { model, models: [model, 'beta/chat'] }])
          await refused(key, 403, 'insufficient_scope', body);
        for (const origin of [url(''), suite.service.baseUrl]) {
          const { json } = await get(`${origin}/models`, bearer(key));
          const ids = (json as { data: { id: string }[] }).data.map(({ id }) => id).filter((id) => id !== '/auto');
          expect(ids.sort()).toEqual(['acme/plain', 'acme/seeing', 'acme/small']);
        }
      }
      const effective = await get(url('/routing/effective'), bearer(older.key));
      expect((effective.json as { data: { id: string }[] }).data.map(({ id }) => id)).not.toContain('beta/chat');
      for (const answer of [
        await tryCreate({ allowed_models: ['beta/chat'] }),
        await patch(older.id, { allowed_models: ['beta/*'] }),
      ]) {
        expectError(answer, 400, 'invalid_request');
        expect(answer.text).toContain('policy');
      }
      await setPolicy({});
      await served(older.key, { model: 'beta/chat' });
    });

    it('leaves /auto the choice among its models only', async () => {
      const { key } = await create();
      // By itself, /auto chooses another.
      const chosen = async (flow: (typeof flows)[number]): Promise<string> => {
        const answer = await ask(suite.service, key, { model: '/auto' }, { flow });
        expect(answer.status, answer.text).toBe(200);
        return (answer.json as { model: string }).model;
      };
      const usual = await chosen('ticket');
      const other = ['acme/thinker', 'acme/roomy'].find((id) => id !== usual) ?? '';
      await setPolicy({ allowed_models: [other] });
      for (const flow of flows) expect(await chosen(flow)).toBe(other);
      expect(await previewed('/auto')).toMatchObject({ model: other, refusal: null });
      await setPolicy({ allowed_models: ['acme/embed'] });
      await refused(key, 400, 'no_provider_route', { model: '/auto' });
      expect(await previewed('/auto')).toMatchObject({ refusal: { type: 'no_provider_route' } });
      await setPolicy({});
    });

    it('shows in the preview that a request would be refused', async () => {
      await setPolicy({ allowed_models: ['acme/roomy'] });
      const message = `The workspace's policy does not allow the model \`${model}\`. It allows \`acme/roomy\`.`;
      expect(await previewed(model)).toMatchObject({ plan: [], refusal: { type: 'insufficient_scope', message } });
      expect(await previewed('acme/roomy')).toMatchObject({ refusal: null });
      await setPolicy({});
    });

    it('has a largest limit, which keys without one and keys with more get, until it is looser', async () => {
      const [without, more, less] = [
        await create(),
        await create({ credit_limit_usd: 4 }),
        await create({ credit_limit_usd: 1 }),
      ];
      await served(without.key);
      await served(more.key);
      await setPolicy({ max_key_limit_usd: 2 });
      expect((await listed(without.id)).credit_limit_usd).toBe(2);
      expect((await listed(more.id)).credit_limit_usd).toBe(2);
      expect((await listed(less.id)).credit_limit_usd).toBe(1);
      expect((await create()).credit_limit_usd).toBe(2);
      expect((await change(more.id, { credit_limit_usd: null })).credit_limit_usd).toBe(2);
      for (const answer of [
        await tryCreate({ credit_limit_usd: 2.01 }),
        await patch(less.id, { credit_limit_usd: 3 }),
        await patch(less.id, { credit_limit_usd: 3 }, admin),
      ]) {
        expectError(answer, 400, 'invalid_request');
        expect(answer.text).toContain('at most 2');
      }
      await setPolicy({ max_key_limit_usd: 0 });
      for (const { key } of [without, more, less]) await refused(key, 402, 'insufficient_balance');
      await setPolicy({});
      expect((await listed(without.id)).credit_limit_usd).toBeNull();
      for (const { key } of [without, more, less]) await served(key);
    });

    it('ends keys so many days after their creation, and no rotation or later expiry prolongs one', async () => {
      const [{ id, key }, management] = [await create(), await create({ kind: 'management' }, owner)];
      await setPolicy({ max_key_days: 30 });
      const made = await create();
      expect(Date.parse(made.expires_at ?? '') - Date.parse(made.created_at)).toBe(30 * dayMs);
      expect((await create({ expires_at: inDays(3) })).expires_at).not.toBe(made.expires_at);
      for (const answer of [await tryCreate({ expires_at: inDays(31) }), await patch(id, { expires_at: inDays(31) })]) {
        expectError(answer, 400, 'invalid_request');
        expect(answer.text).toContain('30 days');
      }
      // The keys are older than they are.
      await suite.service.pool.query(
        `update api_keys set created_at = now() - interval '2 days', generation = generation + 1 where id = any($1)`,
        [[id, management.id]],
      );
      await served(key);
      const { ticket } = await suite.service.mintTicket(key, { model });
      await setPolicy({ max_key_days: 1 });
      await refused(key, 401, 'invalid_api_key');
      expectError(await redeem(suite.service, ticket, { model }), 401, 'invalid_ticket');
      expectError(await get(url('/balance'), bearer(management.key)), 401, 'invalid_api_key');
      expectError(await patch(id, { expires_at: inDays(1) }), 400, 'invalid_request');
      expect(Date.parse((await change(id, { expires_at: null })).expires_at ?? '')).toBeLessThan(Date.now());
      const rotated = await post(url(`/keys/${id}/rotate-secret`), {}, member.session);
      await refused(keyAnswerSchema.parse(rotated.json).key ?? '', 401, 'invalid_api_key');
      await setPolicy({});
      await served(key);
    });

    it('forbids compatibility access, while tickets go on', async () => {
      const { id, key } = await create();
      await setPolicy({ openai_compatible: false });
      const made = await create();
      expect(made.openai_compatible).toBe(false);
      expect((await listed(id)).openai_compatible).toBe(false);
      for (const each of [key, made.key]) {
        expectError(await ask(suite.service, each, { model }), 403, 'compatibility_access_disabled');
        expect((await ask(suite.service, each, { model }, { flow: 'ticket' })).status).toBe(200);
      }
      expectError(await tryCreate({ openai_compatible: true }), 400, 'invalid_request');
      expectError(await patch(id, { openai_compatible: true }), 400, 'invalid_request');
      await setPolicy({});
      await served(key);
      // A key that was made for tickets only stays so.
      expect((await listed(made.id)).openai_compatible).toBe(false);
    });

    it('binds apps that a member connects, before and after', async () => {
      const visitor = { ...member, browser: new Browser() };
      await signIn(suite.service, visitor);
      const app = await newApp(suite.service, visitor);
      const decision = allowed({ workspace_id: workspaceId, credit_limit_usd: null });
      const { client, accessToken, refreshToken } = await connect(suite.service, visitor, app, { decision });
      await setPolicy({ allowed_models: ['acme/plain'], max_key_limit_usd: 2, max_key_days: 30 });
      const mint = (token: string, named: string) => post(url('/inference/tickets'), { model: named }, bearer(token));
      expectError(await mint(accessToken, model), 403, 'insufficient_scope');
      expect((await mint(accessToken, 'acme/plain')).status).toBe(200);
      const [grant] = await grantsOf(suite.service, visitor);
      expect(grant?.credit_limit_usd).toBe(2);
      expect(Date.parse(grant?.expires_at ?? '')).toBeLessThan(Date.now() + 31 * dayMs);
      const consent = await consentTo(suite.service, visitor, await start(await clientOf(suite.service, app)));
      const beyond = await consent.answerRaw(visitor, allowed({ workspace_id: workspaceId, credit_limit_usd: 3 }));
      expect([beyond.status, await beyond.text()]).toEqual([400, expect.stringContaining('credit_limit_usd')]);
      await suite.service.pool.query(
        `update api_keys set created_at = now() - interval '31 days', generation = generation + 1 where id = $1`,
        [grant?.key_id],
      );
      expect(await tokenStatus(suite.service, accessToken)).toBe(401);
      const { refreshTokenGrant } = await import('openid-client');
      expect(await oauthError(refreshTokenGrant(client, refreshToken))).toBe('invalid_grant');
      await setPolicy({});
    });

    it('binds no other workspace, and moves with its own to a new owner', async () => {
      const id = await people.makeWorkspace(owner);
      const next = await people.join(owner, id, 'member');
      const path = url(`/workspaces/${id}/policy`);
      const strict = { ...open, max_key_limit_usd: 1 };
      expect((await send('PUT', path, { headers: owner.session, body: strict })).status).toBe(200);
      expect((await create()).credit_limit_usd).toBeNull();
      const { token } = await people.invite(owner, id, next.email, 'owner');
      expect((await people.accept(next, token)).status).toBe(200);
      expect((await get(path, next.session)).json).toEqual(strict);
      expect((await people.makeKey(next, id)).credit_limit_usd).toBe(1);
    });
  });
};
