import {
  eligibleModelsAnswerSchema,
  type RoutingPreviewAnswer,
  routingPreviewAnswerSchema,
} from '@sotto/contract/control/routing';
import { initialPreferences, type Preferences } from '@sotto/wire';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../kit/answer.ts';
import { ask, bearer } from '../kit/client.ts';
import { expectError } from '../kit/expect-error.ts';
import { type Person, peopleOf } from '../kit/people.ts';
import { get, post, send } from '../kit/send.ts';
import { until } from '../kit/service.ts';
import { describeStage } from '../kit/stage/describe-stage.ts';
import type { StageSpec } from '../kit/stage/spec.ts';
import type { Stage } from '../kit/stage/stage.ts';

const model = 'm/one';
const route = (price: number, more: object = {}) => ({ pricing: [price, price], ...more }) as const;
const loud = route(1, { capabilities: { tools: false } });
const tools = { capabilities: { tools: true } };

/** Three providers of one model: one in an enclave, one private, one anonymous and cheap. */
const spec: StageSpec = {
  providers: { vault: { privacy: 'tee' }, quiet: {}, loud: { privacy: 'anonymous' } },
  models: {
    [model]: { routes: { vault: route(3, { ...tools, context_length: 4000 }), quiet: route(2, tools), loud } },
    'm/loud': { routes: { loud } },
    'm/image': { type: 'image', routes: { quiet: { pricing: { image: 0.04 } } } },
    'm/tts': { type: 'tts', routes: { quiet: { pricing: { input_characters: 15 } } } },
  },
  limits: { context_length: 20_000, max_output_tokens: 1000 },
  // The model's vault only claims to be an enclave.
  enclaves: 'assumed',
};

function suite(stage: Stage): void {
  const people = peopleOf(stage);
  let ann: Person;
  let ben: Person;
  const url = (path: string): string => `${stage.service.controlUrl}/routing/${path}`;
  const read = (person: Person): Promise<Answer> => get(url('preferences'), person.session);
  const put = (person: Person, body: object, query = ''): Promise<Answer> =>
    send('PUT', url(`preferences${query}`), { headers: person.session, body });
  const preview = async (body: object): Promise<RoutingPreviewAnswer> => {
    const answer = await post(url('preview'), { model, ...body }, ann.session);
    expect(answer.status, answer.text).toBe(200);
    return routingPreviewAnswerSchema.parse(answer.json);
  };
  const makeKey = async (person: Person, kind = 'inference'): Promise<string> => {
    const made = await post(`${stage.service.controlUrl}/keys`, { name: 'k', kind }, person.session);
    return (made.json as { key: string }).key;
  };
  const providersOf = ({ plan }: RoutingPreviewAnswer): string[] => plan.map(({ provider }) => provider);
  const ruleOf = ({ excluded }: RoutingPreviewAnswer): Record<string, string> =>
    Object.fromEntries(excluded.map(({ provider, rule }) => [provider, rule]));

  beforeAll(async () => {
    [ann, ben] = [await people.signUp(), await people.signUp()];
  });

  describe('/routing/preferences', () => {
    it('start with the defaults of a new workspace', async () => {
      expect((await read(ann)).json).toEqual(initialPreferences);
    });

    it('PUT replaces all five fields and keeps the other settings', async () => {
      const first = await put(ann, { provider_sort: 'price', provider_ignore: ['loud'], max_price: { input: 9 } });
      expect(first.json).toEqual({
        ...initialPreferences,
        provider_sort: 'price',
        provider_ignore: ['loud'],
        max_price: { input: 9 },
      });
      const second = await put(ann, { provider_max_attempts: 2, max_price: null });
      expect(second.json).toEqual({ ...initialPreferences, provider_max_attempts: 2 });
      expect((await read(ann)).json).toEqual(second.json);
      expect((await read(ben)).json).toEqual(initialPreferences);
      await put(ann, {});
    });

    it.each([
      [{ provider_sort: 'best' }, 'provider_sort'],
      [{ provider_max_attempts: 0 }, 'provider_max_attempts'],
      [{ privacy_boundary: 'Private', fallback_floor: 'anonymous' }, 'fallback_floor'],
    ])('an invalid value is refused with its field, and changes nothing: %j', async (body, param) => {
      const answer = await put(ann, body);
      expectError(answer, 400, 'invalid_request');
      expect(answer.json).toMatchObject({ error: { param } });
      expect((await read(ann)).json).toEqual(initialPreferences);
    });

    it('keep the tiers that were chosen for /auto when the boundary rises and falls', async () => {
      const raised = await put(ann, { privacy_boundary: 'Maximum' });
      expect(raised.json).toEqual({ ...initialPreferences, privacy_boundary: 'Maximum' });
      expect(await preview({ model: '/auto', provider: { only: ['quiet'] } })).toMatchObject({
        refusal: { type: 'privacy_boundary_not_met' },
      });
      const lowered = await put(ann, {
        ...(await read(ann).then(({ json }) => json as Preferences)),
        privacy_boundary: 'Standard',
      });
      expect(lowered.json).toEqual(initialPreferences);
      const again = await put(ann, { ...initialPreferences, privacy_boundary: 'Maximum' });
      expect(again.status, again.text).toBe(200);
      await put(ann, { ...initialPreferences });
      expect((await read(ann)).json).toEqual(initialPreferences);
    });

    it('accept null for a field that was omitted', async () => {
      expect((await put(ann, { provider_sort: null, provider_ignore: null, auto: null })).json).toEqual(
        initialPreferences,
      );
    });

    it("belong to the session's own workspaces only", async () => {
      const { rows } = await stage.service.pool.query<{ id: string }>(
        'select id from workspaces where account_id = $1',
        [ben.accountId],
      );
      const query = `?workspace_id=${rows[0]?.id}`;
      expectError(await get(url(`preferences${query}`), ann.session), 404, 'not_found');
      expectError(await put(ann, {}, query), 404, 'not_found');
      expect((await get(url(`preferences${query}`), ben.session)).status).toBe(200);
      for (const headers of [{}, bearer('sotto_inf_wrong')]) {
        expectError(await get(url('preferences'), headers), 401, 'unauthenticated');
      }
      expectError(await get(url('preferences?workspace_id=nonsense'), ann.session), 400, 'invalid_request');
    });

    it('a change has reached every broker when it is answered, and voids the tickets minted before', async () => {
      const key = await makeKey(ben);
      await people.fund(ben);
      await until(async () => (await ask(stage.service, key, { model })).status === 200, 'the key has money');
      const { ticket } = await stage.service.mintTicket(key, { model });
      expect((await put(ben, { provider_ignore: ['vault', 'quiet', 'loud'] })).status).toBe(200);
      expectError(await ask(stage.service, key, { model }), 400, 'no_provider_route');
      const late = await post(
        `${stage.service.baseUrl}/chat/completions`,
        { model, messages: [{ role: 'user', content: 'late' }] },
        { 'x-router-ticket': ticket },
      );
      expectError(late, 401, 'invalid_ticket');
      expect((await put(ben, {})).status).toBe(200);
      expect((await ask(stage.service, key, { model })).status).toBe(200);
    });

    it('a change that only permits more leaves tickets valid, under the preferences of their time', async () => {
      const strict = { provider_ignore: ['loud'], provider_max_attempts: 1 };
      expect((await put(ann, strict)).status).toBe(200);
      await people.fund(ann);
      const key = await makeKey(ann);
      await until(async () => (await ask(stage.service, key, { model })).status === 200, 'the key has money');
      const bound = { model, provider: { sort: 'price' } };
      const mint = async (request: object): Promise<string> => (await stage.service.mintTicket(key, request)).ticket;
      const present = (ticket: string, request: object): Promise<Answer> =>
        post(
          `${stage.service.baseUrl}/chat/completions`,
          { messages: [{ role: 'user', content: 'late' }], ...request },
          { 'x-router-ticket': ticket },
        );
      const [same, looser, both] = [await mint({ model }), await mint({ model }), await mint({ model })];
      expect((await put(ann, strict)).status).toBe(200);
      expect((await present(same, { model })).status).toBe(200);
      expect((await put(ann, { ...strict, provider_max_attempts: 3 })).status).toBe(200);
      expect((await present(looser, { model })).status).toBe(200);
      // A new ticket has the new preferences, and loses them when they become stricter again.
      const new_ = await mint(bound);
      expect((await put(ann, strict)).status).toBe(200);
      expectError(await present(new_, bound), 401, 'invalid_ticket');
      expectError(await present(both, { model }), 401, 'invalid_ticket');
      expect((await put(ann, {})).status).toBe(200);
    });
  });

  describe('/routing/preview', () => {
    it('shows the order, the reason for every excluded route, and the hold', async () => {
      const shown = await preview({ prompt_tokens: 1000, max_tokens: 500, provider: { sort: 'privacy' } });
      expect(shown).toMatchObject({ model, routing: 'exact', choice: null, refusal: null });
      expect(providersOf(shown)).toEqual(['vault']);
      expect(ruleOf(shown)).toEqual({ quiet: 'step_down', loud: 'step_down' });
      // 1,500 tokens at 3 USD a million.
      expect(shown.hold_usd).toBe(0.0045);
      for (const { message } of shown.excluded) expect(message).toMatch(/^[A-Z].*\.$/);
    });

    it.each([
      ['m/image', {}, 0.04],
      // 4 characters a token, at 15 USD a million. Without a token count, a thousand tokens.
      ['m/tts', { prompt_tokens: 100 }, 0.006],
      ['m/tts', {}, 0.06],
    ])('shows the hold of %s with %j', async (asked, body, hold) => {
      expect(await preview({ model: asked, ...body })).toMatchObject({ refusal: null, hold_usd: hold });
    });

    it.each<[string, object, Record<string, string>]>([
      [
        'the boundary',
        { preferences: { privacy_boundary: 'Private' }, provider: { sort: 'price', minimum_privacy: 'anonymous' } },
        { loud: 'boundary' },
      ],
      ['the floor', { provider: { minimum_privacy: 'private' } }, { loud: 'floor' }],
      ['only', { provider: { only: ['loud'], minimum_privacy: 'anonymous' } }, { vault: 'only', quiet: 'only' }],
      ['ignore', { provider: { ignore: ['vault'], minimum_privacy: 'anonymous' } }, { vault: 'ignore' }],
      [
        'a disabled provider',
        { preferences: { provider_ignore: ['vault'] }, provider: { minimum_privacy: 'anonymous' } },
        { vault: 'ignore' },
      ],
      ['a capability', { tools: true, provider: { minimum_privacy: 'anonymous' } }, { loud: 'capability' }],
      ['the price', { provider: { max_price: { input: 2 }, minimum_privacy: 'anonymous' } }, { vault: 'price' }],
      [
        'the context window',
        { prompt_tokens: 9000, provider: { sort: 'price', minimum_privacy: 'anonymous' } },
        { vault: 'context' },
      ],
      [
        'the number of attempts',
        { provider: { minimum_privacy: 'anonymous', max_attempts: 1 } },
        { quiet: 'attempts', loud: 'attempts' },
      ],
    ])('names the rule: %s', async (_, body, rules) => {
      expect(ruleOf(await preview(body))).toEqual(rules);
    });

    it('shows the error for a request that would be refused', async () => {
      const shown = await preview({ provider: { only: ['nobody'] } });
      expect(shown).toMatchObject({ plan: [], hold_usd: null, refusal: { type: 'no_provider_route' } });
      expect(shown.excluded).toHaveLength(3);
      expect(await preview({ model: 'no/such' })).toMatchObject({ refusal: { type: 'model_not_found' }, excluded: [] });
    });

    it.each([
      ['privacy_boundary_not_met', { only: ['loud'] }, { privacy_boundary: 'Private' }],
      ['no_provider_route_meets_privacy', { only: ['loud'] }, {}],
      ['no_provider_route', { only: ['quiet'] }, { privacy_boundary: 'Private', provider_ignore: ['quiet'] }],
      ['no_provider_route', { only: ['nobody'] }, { privacy_boundary: 'Private' }],
    ])('of `/auto` with `only` says why the named providers cannot serve: %s', async (type, provider, saved) => {
      const shown = await preview({ model: '/auto', provider, preferences: saved });
      expect(shown.refusal).toMatchObject({ type });
    });

    it('shows the choice of `/auto`, and its reason', async () => {
      const shown = await preview({ model: '/auto' });
      expect(shown).toMatchObject({ model, routing: 'auto', refusal: null });
      expect(shown.choice).toMatch(
        /`m\/one` at `vault` .*strategy `balanced`: .*only model.*Left out: 1 below the privacy floor/,
      );
    });

    it('reports whether `/auto` chose the first model that is tried', async () => {
      const closed = { preferences: { privacy_boundary: 'Private' } };
      const second = await preview({ model: 'm/loud', models: ['m/loud', '/auto'], ...closed });
      expect(second).toMatchObject({ model, routing: 'auto' });
      const first = await preview({ model, models: [model, '/auto'] });
      expect(first).toMatchObject({ model, routing: 'exact' });
    });

    it('matches the real request', async () => {
      const key = await makeKey(ann);
      await people.fund(ann);
      await until(async () => (await ask(stage.service, key, { model })).status === 200, 'the key has money');
      for (const provider of [
        'loud',
        { sort: 'price' },
        { order: ['quiet'] },
        { ignore: ['vault'] },
        { minimum_privacy: 'private' },
      ]) {
        const [first] = providersOf(await preview({ provider }));
        const answer = await ask(stage.service, key, { model, provider });
        expect([answer.status, answer.headers.get('x-router-provider')]).toEqual([200, first]);
      }
    });

    it('needs a session and a valid body', async () => {
      expectError(await post(url('preview'), { model }, {}), 401, 'unauthenticated');
      expectError(await post(url('preview'), { model, prompt: 'secret' }, ann.session), 400, 'invalid_request');
      expectError(await post(url('preview'), {}, ann.session), 400, 'invalid_request');
      const malformed = await post(url('preview'), { model, preferences: { provider_sort: 1 } }, ann.session);
      expectError(malformed, 400, 'invalid_request');
      expect(malformed.json).toMatchObject({ error: { param: 'preferences.provider_sort' } });
    });
  });

  describe('/routing/eligible-models and /routing/effective', () => {
    it('show anyone the models that drafted preferences allow, best provider first', async () => {
      const draft = async (preferences: Partial<Preferences>) => {
        const answer = await post(url('eligible-models'), { preferences }, {});
        expect(answer.status, answer.text).toBe(200);
        return eligibleModelsAnswerSchema.parse(answer.json).data;
      };
      expect(await draft({ privacy_boundary: 'Private', fallback_floor: 'private' })).toEqual([
        { id: model, providers: ['vault', 'quiet'] },
        { id: 'm/image', providers: ['quiet'] },
        { id: 'm/tts', providers: ['quiet'] },
      ]);
      expect(await draft({ provider_ignore: ['vault', 'quiet'] })).toEqual([
        { id: model, providers: ['loud'] },
        { id: 'm/loud', providers: ['loud'] },
      ]);
      expectError(await post(url('eligible-models'), {}, {}), 400, 'invalid_request');
    });

    it('show a key the models that the saved preferences of its workspace allow', async () => {
      const key = await makeKey(ann);
      await put(ann, { provider_ignore: ['loud'] });
      const answer = await get(url('effective'), bearer(key));
      expect(answer.json).toMatchObject({
        preferences: { provider_ignore: ['loud'] },
        data: [{ id: model }, { id: 'm/image' }, { id: 'm/tts' }],
      });
      await put(ann, {});
      expectError(await get(url('effective'), {}), 401, 'unauthenticated');
      const managementKey = await makeKey(ann, 'management');
      expectError(await get(url('effective'), bearer(managementKey)), 403, 'insufficient_scope');
    });
  });
}

await describeStage('routing', spec, suite);
