import { beforeAll, describe, expect, it } from 'vitest';
import { ask, flows } from '../../kit/client.ts';
import { type Concept, modelIds } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { answerError } from '../../kit/provider.ts';
import type { TestAccount } from '../../kit/service.ts';

/** Tests which model and provider serve a request, and which requests are rejected (docs/concepts/routing.md). */
export const selection: Concept = (suite) => {
  const key = (): string => suite.account.inferenceKey;

  describe.each(flows)('selection, %s flow', (flow) => {
    const askFor = (body: object) => ask(suite.service, key(), { model: 'acme/wide', ...body }, { flow });
    const providerOf = async (body: object): Promise<string | null> => {
      const answer = await askFor(body);
      expect(answer.status, answer.text).toBe(200);
      return answer.headers.get('x-router-provider');
    };

    it.each([
      'acme/nothing',
      'ACME/small',
      'acme/Small',
      'Name of acme/small',
      'small-v1',
      'small',
      'acme/acme/small',
      'acme/small:free',
      'acme/small:online',
      'acme/small:thinking',
      'acme/small:extended',
      'acme/small:bogus',
      'acme/small ',
      '__proto__',
      'constructor',
    ])('%j is 404 model_not_found', async (model) => {
      expectError(await askFor({ model }), 404, 'model_not_found');
      expect(suite.asked).toBe(0);
    });

    it(':floor orders providers by price, and the answer has the canonical id', async () => {
      const answer = await askFor({ model: 'acme/wide:floor' });
      expect(answer.status, answer.text).toBe(200);
      // Acme is the cheapest provider of class `private` or stronger.
      expect(answer.headers.get('x-router-provider')).toBe('acme');
      expect(answer.headers.get('x-router-routing')).toBe('exact');
      expect(answer.json).toMatchObject({ model: 'acme/wide' });
    });

    it(':nitro is a suffix of the same model', async () => {
      const answer = await askFor({ model: 'acme/wide:nitro' });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.json).toMatchObject({ model: 'acme/wide' });
    });

    it('/auto chooses the model', async () => {
      const answer = await askFor({ model: '/auto' });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.headers.get('x-router-routing')).toBe('auto');
      const { model } = answer.json as { model: string };
      expect(modelIds).toContain(model);
      expect(answer.headers.get('x-router-selected-model')).toBe(`${answer.headers.get('x-router-provider')}/${model}`);
    });

    it('a policy limits /auto to models with an eligible route', async () => {
      const answer = await askFor({ model: '/auto', provider: 'vault' });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.json).toMatchObject({ model: 'acme/wide' });
      expect(answer.headers.get('x-router-selected-model')).toBe('vault/acme/wide');
    });

    it('a string pins one provider, without fallback', async () => {
      expect(await providerOf({ provider: 'beta' })).toBe('beta');
      suite.provider('beta').answer(answerError(403));
      expectError(await askFor({ provider: 'beta' }), 502, 'provider_error');
      expect(suite.asked).toBe(2);
    });

    it('without a policy, the strongest privacy class is chosen', async () => {
      expect(await providerOf({})).toBe('vault');
    });

    it('order, only, ignore, sort, max_price and minimum_privacy determine the provider', async () => {
      expect(await providerOf({ provider: { order: ['beta', 'vault'] } })).toBe('beta');
      expect(await providerOf({ provider: { only: ['acme', 'beta'] } })).toBe('acme');
      expect(await providerOf({ provider: { ignore: ['vault'] } })).toBe('acme');
      expect(await providerOf({ provider: { sort: 'privacy' } })).toBe('vault');
      expect(await providerOf({ provider: { sort: 'price' } })).toBe('acme');
      expect(await providerOf({ provider: { sort: 'price', minimum_privacy: 'anonymous' } })).toBe('beta');
      expect(await providerOf({ provider: { max_price: { input: 2.5, output: 5 } } })).toBe('acme');
      expect(await providerOf({ provider: { minimum_privacy: 'tee', sort: 'price' } })).toBe('vault');
    });

    it('a provider id matches its variants, but the id of a variant does not match its provider', async () => {
      expect(await providerOf({ model: 'acme/regional', provider: 'acme' })).toBe('acme/eu');
      expect(await providerOf({ model: 'acme/regional', provider: 'acme/eu' })).toBe('acme/eu');
      expect(await providerOf({ model: 'acme/regional', provider: { ignore: ['acme'] } })).toBe('beta');
      expectError(await askFor({ model: 'acme/small', provider: 'acme/eu' }), 400, 'no_provider_route');
    });

    it('the policy is never forwarded', async () => {
      await askFor({ provider: { only: ['acme'], max_attempts: 2 } });
      expect(suite.lastSeen().body).not.toHaveProperty('provider');
      expect(suite.lastSeen().body).not.toHaveProperty('models');
      expect(suite.lastSeen().text).not.toContain('max_attempts');
    });

    it.each<[string, unknown, number, string]>([
      ['a provider in both only and ignore', { only: ['acme'], ignore: ['acme'] }, 400, 'provider_policy_conflict'],
      ['an order entry that only excludes', { order: ['beta'], only: ['acme'] }, 400, 'provider_policy_conflict'],
      ['an order entry that ignore removes', { order: ['beta'], ignore: ['beta'] }, 400, 'provider_policy_conflict'],
      ['an unknown key', { favourite: 'acme' }, 400, 'invalid_request'],
      ['quantizations', { quantizations: ['fp8'] }, 400, 'invalid_request'],
      ['data_collection', { data_collection: 'deny' }, 400, 'invalid_request'],
      ['max_attempts of 4', { max_attempts: 4 }, 400, 'invalid_request'],
      ['max_attempts of 0', { max_attempts: 0 }, 400, 'invalid_request'],
      ['sort default', { sort: 'default' }, 400, 'invalid_request'],
      ['an unknown sort', { sort: 'beauty' }, 400, 'invalid_request'],
      ['an unknown class', { minimum_privacy: 'secret' }, 400, 'invalid_request'],
      ['an unknown key of max_price', { max_price: { request: 1 } }, 400, 'invalid_request'],
      ['a price below zero', { max_price: { input: -1 } }, 400, 'invalid_request'],
      ['a number', 5, 400, 'invalid_provider_policy'],
      ['a list', ['acme'], 400, 'invalid_provider_policy'],
      ['an ill-formed pin', 'Not An Id!', 400, 'invalid_provider_policy'],
      ['an ill-formed id', { only: ['a//b'] }, 400, 'invalid_provider_policy'],
      ['only that is a string', { only: 'acme' }, 400, 'invalid_provider_policy'],
      ['an id that is a number', { ignore: [5] }, 400, 'invalid_provider_policy'],
      ['allow_fallbacks that is a string', { allow_fallbacks: 'no' }, 400, 'invalid_provider_policy'],
      ['max_attempts that is a string', { max_attempts: '2' }, 400, 'invalid_provider_policy'],
      ['max_price that is a number', { max_price: 5 }, 400, 'invalid_provider_policy'],
      ['a sort that is a number', { sort: 1 }, 400, 'invalid_provider_policy'],
      ['minimum_privacy that is a number', { minimum_privacy: 2 }, 400, 'invalid_provider_policy'],
      ['an unknown provider', { only: ['nobody'] }, 400, 'no_provider_route'],
      ['an unknown pin', 'nobody', 400, 'no_provider_route'],
      ['every provider ignored', { ignore: ['acme', 'beta', 'vault'] }, 400, 'no_provider_route'],
      ['a price that nobody takes', { max_price: { input: 0.01 } }, 400, 'no_provider_route_meets_price'],
      ['a class that nobody has', { minimum_privacy: 'e2ee' }, 403, 'no_provider_route_meets_privacy'],
    ])('%s: %j is %i %s', async (_, provider, status, type) => {
      expectError(await askFor({ provider }), status, type);
      expect(suite.asked).toBe(0);
    });

    it('`models` falls back to the next model, at the price of the model that served', async () => {
      suite.provider('flaky').answer(answerError(503));
      const answer = await askFor({ model: 'flaky/chat', models: ['flaky/chat', 'acme/small'] });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.json).toMatchObject({ model: 'acme/small', usage: { cost: 0.000035 } });
      expect(answer.headers.get('x-router-selected-model')).toBe('acme/acme/small');
      expect(answer.headers.get('x-router-provider-attempts')).toBe('2');
      expect(answer.headers.get('x-router-provider-fallback')).toBe('true');
    });

    it('`models` has at most three entries, including `model`', async () => {
      const three = ['acme/wide', 'acme/small', 'acme/plain'];
      const fine = await askFor({ models: three });
      expect(fine.status, fine.text).toBe(200);
      expectError(await askFor({ models: [...three, 'acme/thinker'] }), 400, 'invalid_request', 'models');
      expectError(
        await askFor({ models: ['acme/thinker', 'acme/small', 'acme/plain'] }),
        400,
        'invalid_request',
        'models',
      );
      expectError(await askFor({ models: [5] }), 400, 'invalid_request');
    });
  });

  describe('a workspace with a minimum privacy', () => {
    let bounded: TestAccount;
    let floored: TestAccount;

    beforeAll(async () => {
      [bounded, floored] = await Promise.all([
        suite.service.createAccount({ preferences: { privacy_boundary: 'Private' } }),
        suite.service.createAccount({
          preferences: { provider_ignore: ['vault'], provider_minimum_privacy: 'private' },
        }),
      ]);
    });

    it('a request below the minimum is 403 privacy_boundary_not_met, in both flows', async () => {
      for (const flow of flows) {
        const answer = await ask(suite.service, bounded.inferenceKey, { model: 'beta/chat' }, { flow });
        expectError(answer, 403, 'privacy_boundary_not_met');
      }
      expect(suite.asked).toBe(0);
    });

    it('a request cannot enable a disabled provider or lower the minimum', async () => {
      const { service } = suite;
      for (const flow of flows) {
        const answer = await ask(
          service,
          floored.inferenceKey,
          { model: 'acme/wide', provider: { order: ['vault', 'acme'] } },
          { flow },
        );
        // The contract allows either a conflict or a skipped entry. In both cases the provider must not be called.
        if (answer.status === 200) expect(answer.headers.get('x-router-provider')).toBe('acme');
        expectError(
          await ask(service, floored.inferenceKey, { model: 'acme/wide', provider: 'vault' }, { flow }),
          400,
          'no_provider_route',
        );
        expectError(
          await ask(
            service,
            floored.inferenceKey,
            { model: 'beta/chat', provider: { minimum_privacy: 'anonymous' } },
            { flow },
          ),
          403,
          'no_provider_route_meets_privacy',
        );
      }
      expect(suite.provider('vault').seen).toHaveLength(0);
      expect(suite.provider('beta').seen).toHaveLength(0);
    });
  });
};
