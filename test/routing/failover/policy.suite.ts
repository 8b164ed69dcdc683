import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { chargeOf } from '../../kit/books.ts';
import { type Asked, ask, flows } from '../../kit/client.ts';
import { answerChat, answerError } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import { everyWay } from '../../kit/scenes/ways.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { upstreamModel } from '../../kit/stage/models.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { textOf, usualCost } from '../../kit/stage/usual-answer.ts';

const catalogOrder = ['anon', 'alpha', 'beta', 'gamma', 'shade', 'dusk', 'vault', 'seal'];
export const policySuite: Suite = {
  name: 'the provider policy of a request',
  spec: {
    copies: 60,
    providers: {
      anon: { privacy: 'anonymous' },
      alpha: {},
      beta: {},
      gamma: {},
      shade: { listed: false },
      dusk: { listed: false },
      vault: { privacy: 'tee' },
      seal: { privacy: 'e2ee' },
    },
    models: {
      // One provider of each tier, priced higher for stronger tiers. Two of them are `private`.
      tiers: { routes: { anon: [0.1, 0.2], alpha: [1, 2], beta: [0.5, 1], vault: [3, 6], seal: [0.01, 0.01] } },
      trio: { routes: { alpha: [1, 2], beta: [0.5, 1], gamma: [2, 4] } },
      partners: { routes: { shade: [2, 4], dusk: [3, 6], alpha: [1, 2] } },
      measured: { routes: { alpha: [1, 2], beta: [3, 6], gamma: [2, 4] } },
      sealed: { routes: { seal: [1, 2] } },
      skilled: {
        routes: {
          alpha: [1, 2],
          beta: { pricing: [2, 4], capabilities: { reasoning: { efforts: ['low'] } } },
          gamma: { pricing: [3, 6], capabilities: { tools: true } },
        },
      },
    },
  },
  tests(stage) {
    let account: TestAccount;
    let payer: TestAccount;
    beforeAll(async () => {
      ({ account, payer } = await createAccounts(stage.service, { account: {}, payer: {} }));
    });

    const asks = (body: object, asked?: Asked): Promise<Answer> =>
      ask(stage.service, account.inferenceKey, body, asked);

    /** The order in which a request tries providers. All of them fail in a way that causes no penalty. */
    async function tried(shape: string, provider?: unknown, more: object = {}): Promise<string[]> {
      stage.reset();
      stage.onAll(catalogOrder, answerError(403));
      const model = `${stage.model(shape)}${'suffix' in more ? more.suffix : ''}`;
      await asks({ model, ...(provider === undefined ? {} : { provider }), ...more });
      return [...stage.called];
    }

    describe.each(everyWay)('$name', ({ flow, stream }) => {
      it('is served by the first provider of the plan, under our own names', async () => {
        const model = stage.model('trio');
        const answer = await asks({ model, stream, stream_options: { include_usage: true } }, { flow });
        expect(answer).toMatchObject({ status: 200, content: textOf('beta') });
        expect(Object.fromEntries(answer.headers)).toMatchObject({
          'x-router-selected-model': `beta/${model}`,
          'x-router-routing': 'exact',
          'x-router-provider': 'beta',
          'x-router-provider-attempts': '1',
          'x-router-provider-fallback': 'false',
          'x-router-privacy-class': 'private',
          'cache-control': 'no-store',
        });
        for (const each of ['limit', 'remaining', 'reset']) {
          expect(answer.headers.get(`x-ratelimit-${each}-requests`)).toMatch(/^[\dms]+$/);
          expect(answer.headers.get(`x-ratelimit-${each}-tokens`)).toMatch(/^[\dms]+$/);
        }
        for (const { model: named } of [answer.body, ...answer.chunks]) expect(named).toBe(model);
        expect(answer.text).not.toMatch(/provider-own-id|fp_secret|calls-it/);
        expect(answer.body.usage?.cost).toBe(Number(usualCost([0.5, 1])) / 1e9);
      });

      it('asks each provider by its own model id, and forwards nothing of ours', async () => {
        stage.on('beta', answerError(500));
        stage.on('alpha', answerError(500));
        const provider = { sort: 'privacy', max_attempts: 3 };
        const model = stage.model('trio');
        const answer = await asks({ model, models: [model], stream, provider, transforms: [], route: 'x' }, { flow });
        expect(answer).toMatchObject({ status: 200, content: textOf('gamma') });
        expect(answer.headers.get('x-router-provider-attempts')).toBe('3');
        expect(answer.headers.get('x-router-provider-fallback')).toBe('true');
        expect(answer.headers.get('x-router-selected-model')).toBe(`gamma/${model}`);
        expect(stage.called).toEqual(['beta', 'alpha', 'gamma']);
        for (const id of stage.called) {
          const [request] = stage.provider(id).seen;
          expect(request?.body.model).toBe(upstreamModel(id, model));
          for (const ours of ['provider', 'models', 'transforms', 'route'])
            expect(request?.body).not.toHaveProperty(ours);
        }
      });

      it('charges the serving route alone when others failed before it', async () => {
        stage.onAll(['beta', 'alpha'], answerError(503));
        const charge = await chargeOf(stage.service, payer, async () => {
          const answer = await ask(stage.service, payer.inferenceKey, { model: stage.model('trio'), stream }, { flow });
          expect(answer.content).toBe(textOf('gamma'));
        });
        expect(charge).toBe(usualCost([2, 4]));
      });

      it('charges nothing when every provider failed', async () => {
        stage.onAll(['alpha', 'beta', 'gamma'], answerError(503));
        const charge = await chargeOf(stage.service, payer, async () => {
          const answer = await ask(stage.service, payer.inferenceKey, { model: stage.model('trio'), stream }, { flow });
          expect(answer).toMatchObject({ status: 503, error: { type: 'provider_fallback_exhausted' } });
        });
        expect(charge).toBe(0n);
      });

      it('keeps to an exact pin: no other provider is tried', async () => {
        stage.on('gamma', answerError(500));
        const answer = await asks({ model: stage.model('trio'), stream, provider: 'gamma' }, { flow });
        expect(answer).toMatchObject({ status: 502, error: { type: 'provider_error' } });
        expect(stage.called).toEqual(['gamma']);
      });

      it('reports unlisted providers as `other`', async () => {
        const model = stage.model('partners');
        const answer = await asks({ model, stream, provider: 'other' }, { flow });
        expect(answer.content).toBe(textOf('shade'));
        expect(answer.headers.get('x-router-provider')).toBe('other');
        expect(answer.headers.get('x-router-selected-model')).toBe(`other/${model}`);
        expect(answer.text.match(/shade/g)).toHaveLength(1);
        expect(JSON.stringify([...answer.headers])).not.toMatch(/shade/);
      });

      it('never sends plaintext to an end-to-end-encrypted provider, pinned or alone or cheapest', async () => {
        for (const body of [
          { model: stage.model('sealed') },
          { model: stage.model('sealed'), provider: { only: ['seal'], minimum_privacy: 'e2ee' } },
          { model: stage.model('tiers'), provider: 'seal' },
        ]) {
          const answer = await asks({ ...body, stream }, { flow });
          expect(answer).toMatchObject({ status: 403, error: { type: 'no_provider_route_meets_privacy' } });
        }
        await asks({ model: stage.model('tiers'), stream, provider: { sort: 'price' } }, { flow });
        expect(stage.called).toEqual(['beta']);
      });
    });

    // What each setting means is proven by the decisions of the router (packages/router/src/plan). Here each reaches them.
    it.each<[string, string, unknown, object, readonly string[]]>([
      ['nothing', 'tiers', undefined, {}, ['vault']],
      ['order', 'trio', { order: ['gamma'] }, {}, ['gamma', 'beta', 'alpha']],
      ['only', 'trio', { only: ['gamma', 'alpha'] }, {}, ['alpha', 'gamma']],
      ['ignore', 'trio', { ignore: ['beta'] }, {}, ['alpha', 'gamma']],
      ['sort', 'tiers', { sort: 'price' }, {}, ['beta', 'alpha', 'vault']],
      ['minimum_privacy', 'tiers', { minimum_privacy: 'private', ignore: ['vault'] }, {}, ['beta', 'alpha']],
      ['max_price', 'trio', { max_price: { output: 2 } }, {}, ['beta', 'alpha']],
      ['max_attempts', 'trio', { max_attempts: 2 }, {}, ['beta', 'alpha']],
      ['allow_fallbacks', 'trio', { allow_fallbacks: false }, {}, ['beta']],
      ['require_parameters', 'skilled', { require_parameters: true }, { reasoning_effort: 'low' }, ['beta']],
      ['a pin', 'partners', 'other', {}, ['shade']],
      ['a suffix', 'tiers', undefined, { suffix: ':floor' }, ['beta', 'alpha', 'vault']],
      [
        'tools',
        'skilled',
        undefined,
        { tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }] },
        ['gamma'],
      ],
    ])('%s in a request decides which providers are tried', async (_, shape, provider, more, expected) => {
      expect(await tried(shape, provider, more)).toEqual(expected);
    });

    it('answers with the canonical id if the request had a suffix', async () => {
      const model = stage.model('tiers');
      const answer = await asks({ model: `${model}:floor` });
      expect(answer.body.model).toBe(model);
      expect(answer.headers.get('x-router-selected-model')).toBe(`beta/${model}`);
      expect(answer.headers.get('x-router-routing')).toBe('exact');
    });

    it('sort: latency and throughput use measurements, and a failed route still goes behind', async () => {
      const model = stage.model('measured');
      // Answers that take less than 10 ms have no measured speed.
      for (const [id, ms] of [
        ['alpha', 800],
        ['beta', 30],
      ] as const) {
        stage.on(id, (request, response) => {
          setTimeout(() => answerChat()(request, response), ms);
        });
      }
      const pins = ['alpha', 'beta'].flatMap((id) => Array<string>(25).fill(id));
      await Promise.all(pins.map((provider) => asks({ model, provider })));
      stage.onAll(catalogOrder, answerError(403));
      const order = async (more: object): Promise<string> => {
        stage.called.length = 0;
        await asks({ model, ...more });
        return stage.called.join();
      };
      // Measured providers come before unmeasured ones, and fast ones before slow ones.
      const byLatency = { provider: { sort: 'latency' } };
      await until(async () => (await order(byLatency)) === 'beta,alpha,gamma', 'measurements are read');
      expect(await order({ provider: { sort: 'throughput' } })).toBe('beta,alpha,gamma');
      expect(await order({ model: `${model}:nitro` })).toBe('beta,alpha,gamma');
      expect(await order({ provider: { sort: 'price' } })).toBe('alpha,gamma,beta');
      stage.on('beta', answerError(500));
      await order({ provider: 'beta' });
      stage.on('beta', answerError(403));
      expect(await order(byLatency)).toBe('alpha,gamma,beta');
    });

    it.each(flows)('bills a fallback under the serving provider, with its attempts (%s)', async (flow) => {
      stage.on('beta', answerError(500));
      const model = stage.model('trio');
      await ask(stage.service, payer.inferenceKey, { model }, { flow });
      await stage.service.settled(payer);
      const usage = await fetch(`${stage.service.controlUrl}/usage`, {
        headers: { authorization: `Bearer ${payer.managementKey}` },
      });
      const { data } = (await usage.json()) as { data: { model: string }[] };
      expect(data.find((row) => row.model === model)).toMatchObject({
        provider: 'alpha',
        privacy_class: 'private',
        prompt_tokens: 10,
        completion_tokens: 20,
        cost: Number(usualCost([1, 2])) / 1e9,
        attempts: 2,
        fallback: true,
        estimated: false,
      });
    });
  },
};
