import type { Preferences } from '@sotto/wire';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { chargeOf } from '../../kit/books.ts';
import { type Asked, ask, flows } from '../../kit/client.ts';
import { answerError } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import { everyWay } from '../../kit/scenes/ways.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { textOf, usualCost } from '../../kit/stage/usual-answer.ts';

const everyone = ['anon', 'alpha', 'beta', 'gamma', 'vault'];
export const choosingSuite: Suite = {
  name: 'models, preferences and refusals',
  spec: {
    copies: 40,
    providers: {
      anon: { privacy: 'anonymous' },
      alpha: {},
      beta: {},
      gamma: {},
      vault: { privacy: 'tee' },
      seal: { privacy: 'e2ee' },
    },
    models: {
      tiers: { routes: { anon: [0.1, 0.2], alpha: [1, 2], beta: [0.5, 1], vault: [3, 6], seal: [0.01, 0.01] } },
      trio: { routes: { alpha: [1, 2], beta: [0.5, 1], gamma: [2, 4] } },
      first: { routes: { alpha: [1, 2], beta: [2, 4] } },
      second: { routes: { gamma: [5, 10], alpha: [6, 12] } },
      cheap: { routes: { alpha: [0.1, 0.1] } },
      dear: { routes: { beta: [9, 9] } },
      anonymous: { routes: { anon: [0.01, 0.01] } },
      private: { routes: { alpha: [1, 2] } },
      windows: { routes: { vault: { pricing: [3, 6], context_length: 1000 }, alpha: [1, 2] } },
      sizes: { routes: { alpha: { pricing: [1, 2], context_length: 1000 }, beta: [2, 4] } },
    },
  },
  tests(stage) {
    let account: TestAccount;
    let payer: TestAccount;
    let chooser: TestAccount;
    beforeAll(async () => {
      ({ account, payer, chooser } = await createAccounts(stage.service, { account: {}, payer: {}, chooser: {} }));
    });

    const asks = (body: object, asked?: Asked): Promise<Answer> =>
      ask(stage.service, account.inferenceKey, body, asked);

    async function tried(body: object, by = account): Promise<string[]> {
      stage.called.length = 0;
      stage.onAll(everyone, answerError(403));
      await ask(stage.service, by.inferenceKey, body);
      return [...stage.called];
    }

    const refused = async (body: object, by: TestAccount, status: number, type: string): Promise<void> => {
      for (const flow of flows) {
        const answer = await ask(stage.service, by.inferenceKey, body, { flow });
        expect(answer, JSON.stringify(body)).toMatchObject({ status, error: { type, request_id: expect.any(String) } });
      }
      expect(stage.called).toEqual([]);
    };

    describe.each(everyWay)('models ($name)', ({ flow, stream }) => {
      it('falls back to the next model, and names and bills that model', async () => {
        stage.onAll(['alpha', 'beta'], answerError(500));
        const [model, second] = [stage.model('first'), stage.model('second')];
        const charge = await chargeOf(stage.service, payer, async () => {
          const answer = await ask(stage.service, payer.inferenceKey, { model, models: [second], stream }, { flow });
          expect(answer).toMatchObject({ status: 200, content: textOf('gamma') });
          expect(answer.headers.get('x-router-selected-model')).toBe(`gamma/${second}`);
          expect(answer.headers.get('x-router-provider-attempts')).toBe('3');
          expect(answer.headers.get('x-router-routing')).toBe('exact');
          for (const { model: named } of [answer.body, ...answer.chunks]) expect(named).toBe(second);
        });
        expect(stage.called).toEqual(['alpha', 'beta', 'gamma']);
        expect(charge).toBe(usualCost([5, 10]));
      });

      it('uses the first model while it can be served', async () => {
        const model = stage.model('first');
        const answer = await asks({ model, models: [model, stage.model('second')], stream }, { flow });
        expect(answer.headers.get('x-router-selected-model')).toBe(`alpha/${model}`);
        expect(answer.headers.get('x-router-provider-fallback')).toBe('false');
      });
    });

    it('bounds attempts over all models together', async () => {
      const models = [stage.model('second'), stage.model('trio')];
      expect(await tried({ model: stage.model('first'), models })).toEqual(['alpha', 'beta', 'gamma']);
      const provider = { max_attempts: 2 };
      expect(await tried({ model: stage.model('cheap'), models: [stage.model('trio')], provider })).toEqual([
        'alpha',
        'beta',
      ]);
    });

    it('skips a model that has no route left under the policy', async () => {
      const body = {
        model: stage.model('cheap'),
        models: [stage.model('dear')],
        provider: { ignore: ['alpha'] },
      };
      expect(await tried(body)).toEqual(['beta']);
    });

    it('refuses a list with a model that does not exist', async () => {
      const model = stage.model('first');
      await refused({ model, models: ['nobody/knows'] }, account, 404, 'model_not_found');
    });

    describe('/auto', () => {
      const choosing = (ids: string[], auto: object = {}) => ({
        provider_sort: 'privacy' as const,
        auto: {
          strategy: 'cheapest' as const,
          tiers: 'Private' as const,
          models: { mode: 'only' as const, ids },
          ...auto,
        },
      });

      it.each(everyWay)('chooses the model and says so ($name)', async ({ flow, stream }) => {
        const [dear, cheap] = [stage.model('dear'), stage.model('cheap')];
        await stage.service.setPreferences(chooser, choosing([dear, cheap]));
        const answer = await ask(stage.service, chooser.inferenceKey, { model: '/auto', stream }, { flow });
        expect(answer.content).toBe(textOf('alpha'));
        expect(answer.headers.get('x-router-routing')).toBe('auto');
        expect(answer.headers.get('x-router-selected-model')).toBe(`alpha/${cheap}`);
        for (const { model } of [answer.body, ...answer.chunks]) expect(model).toBe(cheap);
      });

      it('chooses only among models with an eligible route under the policy', async () => {
        const ids = [stage.model('dear'), stage.model('cheap'), stage.model('anonymous')];
        await stage.service.setPreferences(chooser, choosing(ids, { tiers: 'Standard' }));
        expect(await tried({ model: '/auto', provider: 'beta' }, chooser)).toEqual(['beta']);
        expect(await tried({ model: '/auto', provider: { max_price: { input: 0.05 } } }, chooser)).toEqual(['anon']);
        expect(await tried({ model: '/auto', provider: { minimum_privacy: 'private' } }, chooser)).toEqual(['alpha']);
        stage.reset();
        await refused({ model: '/auto', provider: 'gamma' }, chooser, 400, 'no_provider_route');
      });

      it('keeps to the tiers that the workspace allows for it; other requests may use more', async () => {
        const anonymous = stage.model('anonymous');
        const ids = [anonymous, stage.model('private')];
        await stage.service.setPreferences(chooser, choosing(ids));
        expect(await tried({ model: '/auto' }, chooser)).toEqual(['alpha']);
        expect(await tried({ model: anonymous }, chooser)).toEqual(['anon']);
        await stage.service.setPreferences(chooser, choosing(ids, { tiers: 'Standard' }));
        expect(await tried({ model: '/auto' }, chooser)).toEqual(['anon']);
      });

      it('keeps to the allowed models: all, only these, all except these', async () => {
        const [cheap, dear] = [stage.model('cheap'), stage.model('dear')];
        await stage.service.setPreferences(chooser, choosing([dear]));
        expect(await tried({ model: '/auto' }, chooser)).toEqual(['beta']);
        // Models of this shape are the cheapest of all.
        const others = stage.modelIds.filter((id) => id.startsWith('cheap/') && id !== cheap);
        const chosenWithout = async (ids: string[]): Promise<string | null> => {
          await stage.service.setPreferences(chooser, choosing([], { models: { mode: 'except', ids } }));
          stage.reset();
          const answer = await ask(stage.service, chooser.inferenceKey, { model: '/auto' });
          return answer.headers.get('x-router-selected-model');
        };
        expect(await chosenWithout(others)).toBe(`alpha/${cheap}`);
        expect(await chosenWithout([...others, cheap])).not.toMatch(/\/cheap\//);
        await stage.service.setPreferences(chooser, choosing([], { models: { mode: 'all', ids: [] } }));
        const answer = await ask(stage.service, chooser.inferenceKey, { model: '/auto' });
        expect(answer.headers.get('x-router-selected-model')).toMatch(/^alpha\/cheap\//);
      });
    });

    describe('preferences of the workspace', () => {
      const wanted = {
        disabling: { provider_ignore: ['beta'] },
        strict: { provider_minimum_privacy: 'private', max_price: { input: 0.8, output: 9 } },
        alone: { provider_allow_fallbacks: false },
        twice: { provider_max_attempts: 2 },
        cheapest: { provider_sort: 'price' },
        stepping: { fallback_floor: 'private' },
        Private: { privacy_boundary: 'Private' },
        Maximum: { privacy_boundary: 'Maximum' },
      } satisfies Record<string, Partial<Preferences>>;
      let owners: Record<keyof typeof wanted, TestAccount>;
      beforeAll(async () => {
        owners = await createAccounts(stage.service, wanted);
      });

      it('a disabled provider is never used, and no request can enable it again', async () => {
        const owner = owners.disabling;
        expect(await tried({ model: stage.model('trio') }, owner)).toEqual(['alpha', 'gamma']);
        expect(await tried({ model: stage.model('trio'), provider: { ignore: ['alpha'] } }, owner)).toEqual(['gamma']);
        expect(await tried({ model: stage.model('trio'), provider: { only: ['beta', 'gamma'] } }, owner)).toEqual([
          'gamma',
        ]);
        stage.reset();
        await refused({ model: stage.model('trio'), provider: 'beta' }, owner, 400, 'no_provider_route');
      });

      it('a request cannot lower the floor or raise the ceiling', async () => {
        const owner = owners.strict;
        const provider = { minimum_privacy: 'anonymous', max_price: { input: 100, output: 100 } };
        expect(await tried({ model: stage.model('tiers'), provider: { ...provider, sort: 'price' } }, owner)).toEqual([
          'beta',
        ]);
        stage.reset();
        const anonymous = stage.model('anonymous');
        await refused({ model: anonymous, provider }, owner, 403, 'no_provider_route_meets_privacy');
      });

      it('a request may turn fallback off, and never on', async () => {
        const owner = owners.alone;
        const provider = { allow_fallbacks: true, max_attempts: 3 };
        expect(await tried({ model: stage.model('trio'), provider }, owner)).toEqual(['beta']);
      });

      it('a request may lower the attempts, and never raise them', async () => {
        const owner = owners.twice;
        const trio = (max_attempts: number) => ({ model: stage.model('trio'), provider: { max_attempts } });
        expect(await tried({ model: stage.model('trio') }, owner)).toEqual(['beta', 'alpha']);
        expect(await tried(trio(3), owner)).toEqual(['beta', 'alpha']);
        expect(await tried(trio(1), owner)).toEqual(['beta']);
      });

      it('the sort of the workspace applies to requests without provider settings', async () => {
        const owner = owners.cheapest;
        expect(await tried({ model: stage.model('tiers') }, owner)).toEqual(['beta', 'alpha', 'vault']);
        expect(await tried({ model: stage.model('tiers'), provider: {} }, owner)).toEqual(['beta', 'alpha', 'vault']);
        expect(await tried({ model: stage.model('tiers'), provider: { max_attempts: 3 } }, owner)).toEqual(['vault']);
      });

      it('a fallback steps down as far as the workspace allows, and no further', async () => {
        const owner = owners.stepping;
        expect(await tried({ model: stage.model('tiers') }, owner)).toEqual(['vault', 'beta', 'alpha']);
        const provider = { minimum_privacy: 'anonymous', ignore: ['alpha'] };
        expect(await tried({ model: stage.model('tiers'), provider }, owner)).toEqual(['vault', 'beta']);
      });

      it.each([
        ['Private', 'anonymous'],
        ['Maximum', 'private'],
      ] as const)(
        'the boundary %s refuses a request for what is only %s, before any provider sees it',
        async (boundary, shape) => {
          const owner = owners[boundary];
          const body = { model: stage.model(shape), provider: { minimum_privacy: 'anonymous' } };
          await refused(body, owner, 403, 'privacy_boundary_not_met');
          expect(await tried({ ...body, model: stage.model('tiers') }, owner)).not.toContain('anon');
          expect(stage.called[0]).toBe('vault');
        },
      );
    });

    describe('refused requests', () => {
      it.each([
        ['invalid_provider_policy', { only: ['acme/eu/west'] }],
        ['invalid_provider_policy', { order: 'alpha' }],
        ['provider_policy_conflict', { only: ['alpha', 'beta'], ignore: ['beta'] }],
        ['provider_policy_conflict', { order: ['alpha', 'beta'], ignore: ['beta'] }],
        ['no_provider_route', { only: ['vault'] }],
        ['no_provider_route_meets_price', { max_price: { input: 0 } }],
      ])('%s: %j', async (type, provider) => {
        await refused({ model: 'trio/m0', provider }, account, 400, type);
      });

      it('says how to ask for anonymous providers if a sort excludes them', async () => {
        for (const body of [{ provider: { sort: 'price' } }, { suffix: ':nitro' }, { provider: { sort: 'latency' } }]) {
          const { suffix = '', provider } = body;
          const answer = await asks({
            model: `${stage.model('anonymous')}${suffix}`,
            ...(provider && { provider }),
          });
          expect(answer).toMatchObject({ status: 403, error: { type: 'no_provider_route_meets_privacy' } });
          expect(answer.error?.message).toMatch(/minimum_privacy.*anonymous/);
        }
      });

      it('a context that the strongest tier cannot hold moves to no weaker tier', async () => {
        const body = { model: stage.model('windows'), max_tokens: 3000 };
        await refused(body, account, 400, 'context_too_large');
      });

      it('a route whose window is too small is skipped within its tier', async () => {
        expect(await tried({ model: stage.model('sizes'), max_tokens: 3000 })).toEqual(['beta']);
        expect(await tried({ model: stage.model('sizes'), max_tokens: 300 })).toEqual(['alpha', 'beta']);
      });

      it('are checked in this order: model, boundary, floor, providers, price, context', async () => {
        const owner = await stage.service.createAccount({
          preferences: { provider_sort: 'privacy', privacy_boundary: 'Private' },
        });
        const everything = {
          minimum_privacy: 'tee',
          only: ['nobody'],
          max_price: { input: 0, output: 0 },
        };
        const typeFor = async (model: string, provider: object): Promise<string | undefined> =>
          (await ask(stage.service, owner.inferenceKey, { model, provider, max_tokens: 50_000 })).error?.type;
        expect(await typeFor('nobody/knows', everything)).toBe('model_not_found');
        expect(await typeFor(stage.model('anonymous'), everything)).toBe('privacy_boundary_not_met');
        expect(await typeFor(stage.model('private'), everything)).toBe('no_provider_route_meets_privacy');
        const { only, max_price } = everything;
        expect(await typeFor(stage.model('private'), { only, max_price })).toBe('no_provider_route');
        expect(await typeFor(stage.model('private'), { max_price })).toBe('no_provider_route_meets_price');
        expect(await typeFor(stage.model('private'), {})).toBe('context_too_large');
        expect(stage.called).toEqual([]);
      });
    });
  },
};
