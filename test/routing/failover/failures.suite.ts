import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { type Asked, ask } from '../../kit/client.ts';
import { answerError } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import { close, rawText, rows } from '../../kit/scenes/misbehave.ts';
import { bothModes, everyWay } from '../../kit/scenes/ways.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { textOf } from '../../kit/stage/usual-answer.ts';

const everyone = ['alpha', 'beta', 'gamma', 'anon', 'outcast', 'unauthorized', 'unpaid'];
export const failuresSuite: Suite = {
  name: 'a provider that fails before output',
  spec: {
    copies: 300,
    providers: {
      alpha: {},
      beta: {},
      gamma: {},
      anon: { privacy: 'anonymous' },
      outcast: { api_key_env: 'KEYED_API_KEY' },
      unauthorized: {},
      unpaid: {},
      absent: { server: 'absent' },
    },
    models: {
      single: { routes: { alpha: [1, 2] } },
      pair: { routes: { alpha: [1, 2], beta: [3, 6] } },
      trio: { routes: { alpha: [1, 2], beta: [2, 4], gamma: [3, 6] } },
      tiers: { routes: { alpha: [1, 2], beta: [2, 4], anon: [0.1, 0.2] } },
      mixed: { routes: { alpha: [1, 2], anon: [0.1, 0.2] } },
      steep: { routes: { alpha: [1, 2], beta: [1000, 2000] } },
      outcast: { routes: { outcast: [1, 2], beta: [3, 6] } },
      unauthorized: { routes: { unauthorized: [1, 2], beta: [3, 6] } },
      unpaid: { routes: { unpaid: [1, 2], beta: [3, 6] } },
      absent: { routes: { absent: [1, 2], beta: [3, 6] } },
    },
    environment: { KEYED_API_KEY: 'the-services-own-key' },
  },
  tests(stage) {
    let account: TestAccount;
    let poor: TestAccount;
    beforeAll(async () => {
      poor = await stage.service.createAccount({ usd: 0.05, preferences: { provider_sort: 'privacy' } });
      ({ account } = await createAccounts(stage.service, { account: {} }));
    });
    afterAll(() => {
      // Every failure above contained it, and every failure was logged.
      expect(stage.service.logs()).toContain('attempt failed');
      expect(stage.service.logs()).not.toContain(rawText);
    });

    const asks = async (body: object, asked?: Asked): Promise<Answer> => {
      const answer = await ask(stage.service, account.inferenceKey, body, asked);
      expect(`${answer.text}${JSON.stringify([...answer.headers])}`).not.toContain(rawText);
      return answer;
    };

    /** The order in which the broker tries providers. They fail in ways that cause no penalty. */
    async function tried(model: string, provider?: unknown): Promise<string[]> {
      stage.called.length = 0;
      stage.onAll(everyone, answerError(403));
      await asks({ model, ...(provider === undefined ? {} : { provider }) });
      return [...stage.called];
    }

    describe.each(everyWay)('$name', ({ flow, stream }) => {
      it.each(rows.filter(({ next }) => next))('$name: the next provider serves', async ({ does, penalizes }) => {
        stage.on('alpha', does);
        const model = stage.model('pair');
        const answer = await asks({ model, stream }, { flow });
        expect(stage.called).toEqual(['alpha', 'beta']);
        expect(answer).toMatchObject({ status: 200, content: textOf('beta'), done: stream });
        expect(answer.headers.get('x-router-provider')).toBe('beta');
        expect(answer.headers.get('x-router-provider-attempts')).toBe('2');
        expect(answer.headers.get('x-router-provider-fallback')).toBe('true');
        expect(await tried(model)).toEqual(penalizes === 'route' ? ['beta', 'alpha'] : ['alpha', 'beta']);
        // The penalty applies to the route: other models of the provider keep their order.
        expect(await tried(stage.model('pair'))).toEqual(['alpha', 'beta']);
      });

      it.each(rows.filter(({ next }) => !next))('$name: stops, and the client is told', async ({ does, alone }) => {
        stage.on('alpha', does);
        const model = stage.model('pair');
        const answer = await asks({ model, stream }, { flow });
        expect(stage.called).toEqual(['alpha']);
        expect(answer).toMatchObject({ status: alone[0], error: { type: alone[1] } });
        expect(await tried(model)).toEqual(['alpha', 'beta']);
      });

      it.each(rows)("$name, from the only provider tried: its error in the broker's words", async (row) => {
        stage.on('alpha', row.does);
        const answer = await asks({ model: stage.model('single'), stream }, { flow });
        const [status, type] = row.alone;
        expect(answer).toMatchObject({ status, error: { type, message: expect.any(String) } });
        expect(answer.error?.message).not.toBe('');
        expect(answer.error?.request_id).toBe(answer.headers.get('x-request-id'));
        expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
        if (row.ambiguous) expect(answer.headers.get('x-should-retry')).toBe('false');
        // The ticket is used up, whatever failed.
        const mayHelp = /^(?:429|5..)$/.test(row.name);
        if (mayHelp) expect(answer.headers.get('x-should-retry')).toBe(flow === 'ticket' ? 'false' : null);
        expect(stage.called).toEqual(['alpha']);
      });

      it.each([401, 402] as const)('%i: the next provider serves; alone it is a 502', async (status) => {
        stage.on('outcast', answerError(status));
        const order = { order: ['outcast'] };
        const answer = await asks({ model: stage.model('outcast'), stream, provider: order }, { flow });
        expect(stage.called).toEqual(['outcast', 'beta']);
        expect(answer.content).toBe(textOf('beta'));
        const alone = await asks({ model: stage.model('outcast'), stream, provider: 'outcast' }, { flow });
        expect(alone).toMatchObject({ status: 502, error: { type: 'provider_error' } });
        // The operator's key or balance is at fault. The client does not learn which, and the operator's log says it.
        expect(alone.headers.get('x-should-retry')).toBe('false');
        expect(alone.error?.message).toMatch(/`outcast` refused the request\. A retry will fail, too/);
        const told = {
          401: 'refused the key in KEYED_API_KEY (401)',
          402: 'of the key in KEYED_API_KEY has no balance left (402)',
        };
        expect(stage.service.logs()).toContain(told[status]);
      });

      it('a refused connection: the next provider serves; alone it is a 502', async () => {
        const model = stage.model('absent');
        const answer = await asks({ model, stream }, { flow });
        expect(answer).toMatchObject({ status: 200, content: textOf('beta') });
        expect(answer.headers.get('x-router-provider-attempts')).toBe('2');
        const later = await asks({ model, stream }, { flow });
        expect(later.headers.get('x-router-provider-attempts')).toBe('1');
        const alone = await asks({ model, stream, provider: 'absent' }, { flow });
        expect(alone).toMatchObject({ status: 502, error: { type: 'provider_error' } });
      });

      it('every permitted provider failed: provider_fallback_exhausted', async () => {
        stage.on('alpha', answerError(429));
        stage.on('beta', (_request, response) => close(response));
        stage.on('gamma', answerError(500));
        const answer = await asks({ model: stage.model('trio'), stream }, { flow });
        expect(answer).toMatchObject({ status: 503, error: { type: 'provider_fallback_exhausted' } });
        expect(stage.called).toEqual(['alpha', 'beta', 'gamma']);
      });

      it.each([
        ['the first of them may have worked', [204, 429, 429], 'false'],
        ['one of them may work later', [404, 500, 403], null],
        ['none of them can work', [404, 403, 409], 'false'],
      ] as const)('every permitted provider failed, and %s', async (_, statuses, shouldRetry) => {
        for (const [index, id] of ['alpha', 'beta', 'gamma'].entries()) {
          stage.on(id, answerError(statuses[index] ?? 0));
        }
        const answer = await asks({ model: stage.model('trio'), stream }, { flow });
        expect(answer).toMatchObject({ status: 503, error: { type: 'provider_fallback_exhausted' } });
        expect(answer.headers.get('x-should-retry')).toBe(flow === 'ticket' ? 'false' : shouldRetry);
      });

      it.each([401, 402])('after a %i a provider is not asked again for the next model', async (status) => {
        stage.on('outcast', answerError(status));
        const models = [stage.model('outcast'), stage.model('outcast')];
        const answer = await asks({ model: models[0], models, stream, provider: { only: ['outcast'] } }, { flow });
        expect(answer).toMatchObject({ status: 502, error: { type: 'provider_error' } });
        expect(stage.called).toEqual(['outcast']);
      });

      it('a later 400 stops as well: provider_fallback_exhausted', async () => {
        stage.on('alpha', answerError(503));
        stage.on('beta', answerError(400));
        const answer = await asks({ model: stage.model('trio'), stream }, { flow });
        expect(answer).toMatchObject({ status: 503, error: { type: 'provider_fallback_exhausted' } });
        expect(stage.called).toEqual(['alpha', 'beta']);
      });

      it('a later content-policy refusal stops: no other provider is tried', async () => {
        stage.on('alpha', answerError(503));
        stage.on('beta', answerError(400, { message: rawText, code: 'content_policy_violation' }));
        const answer = await asks({ model: stage.model('trio'), stream }, { flow });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(stage.called).toEqual(['alpha', 'beta']);
      });

      it.each(['alpha', { only: ['alpha'] }, { allow_fallbacks: false }, { max_attempts: 1 }])(
        'with provider %j no other provider is tried',
        async (provider) => {
          stage.on('alpha', answerError(500));
          const answer = await asks({ model: stage.model('trio'), stream, provider }, { flow });
          expect(answer).toMatchObject({ status: 502, error: { type: 'provider_error' } });
          expect(stage.called).toEqual(['alpha']);
        },
      );

      it('before the first attempt, sets aside the price of the dearest one', async () => {
        const model = stage.model('steep');
        const body = { model, stream, max_tokens: 50 };
        const answer = await ask(stage.service, poor.inferenceKey, body, { flow });
        expect(answer).toMatchObject({ status: 402, error: { type: 'insufficient_balance' } });
        expect(answer.error?.message).not.toContain('0.05');
        expect(stage.called).toEqual([]);
        const alone = await ask(stage.service, poor.inferenceKey, { ...body, provider: { max_attempts: 1 } }, { flow });
        expect(alone.content).toBe(textOf('alpha'));
      });
    });

    describe.each(bothModes)('429 alone ($name)', ({ stream }) => {
      it.each([
        ['7', /^7$/],
        [undefined, /^$/],
        ['soon', /^$/],
        ['-3', /^$/],
        [new Date(Date.now() + 3_600_000).toUTCString(), /^3[0-6]\d\d$/],
      ])('answers retry-after of the provider, if it says one: %s', async (given, expected) => {
        stage.on('alpha', answerError(429, { message: rawText }, given === undefined ? {} : { 'retry-after': given }));
        const answer = await asks({ model: stage.model('single'), stream });
        expect(answer.status).toBe(429);
        expect(answer.headers.get('retry-after') ?? '').toMatch(expected);
      });
    });

    describe('the penalty', () => {
      const penalize = async (model: string, id: string, provider: object): Promise<void> => {
        stage.reset();
        stage.on(id, answerError(500));
        await asks({ model, provider });
        expect(stage.called[0]).toBe(id);
      };

      it.each([
        ['unauthorized', 401],
        ['unpaid', 402],
      ])("%s (%i): moves every route of that provider behind others, and no other provider's", async (id, status) => {
        stage.on(id, answerError(status));
        await asks({ model: stage.model(id) });
        expect(stage.called).toEqual([id, 'beta']);
        expect(await tried(stage.model(id))).toEqual(['beta', id]);
        expect(await tried(stage.model('pair'))).toEqual(['alpha', 'beta']);
      });

      it('privacy: behind the healthy routes of its own tier, ahead of any weaker one', async () => {
        const model = stage.model('tiers');
        const provider = { minimum_privacy: 'anonymous' };
        await penalize(model, 'alpha', provider);
        expect(await tried(model, provider)).toEqual(['beta', 'alpha', 'anon']);
      });

      it('price: behind every healthy route', async () => {
        const model = stage.model('tiers');
        const provider = { sort: 'price', minimum_privacy: 'anonymous' };
        await penalize(model, 'anon', provider);
        expect(await tried(model, provider)).toEqual(['alpha', 'beta', 'anon']);
      });

      it('never crosses a privacy boundary: a weaker provider is not used instead', async () => {
        const model = stage.model('mixed');
        await penalize(model, 'alpha', {});
        expect(await tried(model)).toEqual(['alpha']);
        expect(await tried(model, { sort: 'price' })).toEqual(['alpha']);
      });

      it('does not change an explicit order, and reorders the routes after it', async () => {
        const model = stage.model('trio');
        await penalize(model, 'alpha', {});
        expect(await tried(model, { order: ['alpha', 'gamma'] })).toEqual(['alpha', 'gamma', 'beta']);
        expect(await tried(model, { order: ['gamma'] })).toEqual(['gamma', 'beta', 'alpha']);
        expect(await tried(model)).toEqual(['beta', 'gamma', 'alpha']);
      });

      it('excludes no provider: a pinned or only route is still tried', async () => {
        const model = stage.model('pair');
        await penalize(model, 'alpha', {});
        stage.reset();
        const answer = await asks({ model, provider: 'alpha' });
        expect(answer.content).toBe(textOf('alpha'));
        const single = stage.model('single');
        await penalize(single, 'alpha', {});
        await penalize(single, 'alpha', {});
        expect(await tried(single)).toEqual(['alpha']);
      });

      it('of every route leaves them in normal order', async () => {
        const model = stage.model('trio');
        stage.onAll(['alpha', 'beta', 'gamma'], answerError(500));
        await asks({ model });
        expect(await tried(model)).toEqual(['alpha', 'beta', 'gamma']);
      });
    });
  },
};
