import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { chargeOf } from '../../kit/books.ts';
import { type Asked, ask, flows } from '../../kit/client.ts';
import { answerChat, answerError } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import type { Suite } from '../../kit/scenes/suite.ts';
import { everyWay } from '../../kit/scenes/ways.ts';
import { textOf, upstreamModel, usualCost } from '../../kit/scenes/world.ts';
import { type TestAccount, until } from '../../kit/service.ts';

const catalogOrder = ['anon', 'alpha', 'beta', 'gamma', 'acme', 'acme/eu', 'shade', 'dusk', 'vault', 'seal'];
export const policySuite: Suite = {
  name: 'the provider policy of a request',
  spec: {
    copies: 80,
    providers: [
      { id: 'anon', privacy: 'anonymous' },
      { id: 'alpha' },
      { id: 'beta' },
      { id: 'gamma' },
      { id: 'acme' },
      { id: 'acme/eu' },
      { id: 'shade', listed: false },
      { id: 'dusk', listed: false },
      { id: 'vault', privacy: 'tee' },
      { id: 'seal', privacy: 'e2ee' },
    ],
    shapes: {
      // One provider of each tier, priced higher for stronger tiers. Two of them are `private`.
      tiers: { anon: [0.1, 0.2], alpha: [1, 2], beta: [0.5, 1], vault: [3, 6], seal: [0.01, 0.01] },
      trio: { alpha: [1, 2], beta: [0.5, 1], gamma: [2, 4] },
      tied: { gamma: [1, 2], alpha: [1, 2], beta: [1, 2] },
      five: { alpha: [1, 2], beta: [2, 4], gamma: [3, 6], acme: [4, 8], 'acme/eu': [5, 10] },
      regions: { acme: [3, 6], 'acme/eu': [4, 8], alpha: [1, 2] },
      partners: { shade: [2, 4], dusk: [3, 6], alpha: [1, 2] },
      measured: { alpha: [1, 2], beta: [3, 6], gamma: [2, 4] },
      sealed: { seal: [1, 2] },
      // One has cheap input and dear output, the other the reverse.
      lopsided: { alpha: [0.1, 50], beta: [30, 1], gamma: [10, 20] },
      skilled: {
        alpha: [1, 2],
        beta: { price: [2, 4], capabilities: { reasoning: { efforts: ['low'] } } },
        gamma: { price: [3, 6], capabilities: { tools: true } },
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
      stage.world.reset();
      stage.world.onAll(catalogOrder, answerError(403));
      const model = `${stage.world.model(shape)}${'suffix' in more ? more.suffix : ''}`;
      await asks({ model, ...(provider === undefined ? {} : { provider }), ...more });
      return [...stage.world.called];
    }

    describe.each(everyWay)('$name', ({ flow, stream }) => {
      it('is served by the first provider of the plan, under our own names', async () => {
        const model = stage.world.model('trio');
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
        stage.world.on('beta', answerError(500));
        stage.world.on('alpha', answerError(500));
        const provider = { sort: 'privacy', max_attempts: 3 };
        const model = stage.world.model('trio');
        const answer = await asks({ model, models: [model], stream, provider, transforms: [], route: 'x' }, { flow });
        expect(answer).toMatchObject({ status: 200, content: textOf('gamma') });
        expect(answer.headers.get('x-router-provider-attempts')).toBe('3');
        expect(answer.headers.get('x-router-provider-fallback')).toBe('true');
        expect(answer.headers.get('x-router-selected-model')).toBe(`gamma/${model}`);
        expect(stage.world.called).toEqual(['beta', 'alpha', 'gamma']);
        for (const id of stage.world.called) {
          const [request] = stage.world.provider(id).seen;
          expect(request?.body.model).toBe(upstreamModel(id, model));
          for (const ours of ['provider', 'models', 'transforms', 'route'])
            expect(request?.body).not.toHaveProperty(ours);
        }
      });

      it('charges the serving route alone when others failed before it', async () => {
        stage.world.onAll(['beta', 'alpha'], answerError(503));
        const charge = await chargeOf(stage.service, payer, async () => {
          const answer = await ask(
            stage.service,
            payer.inferenceKey,
            { model: stage.world.model('trio'), stream },
            { flow },
          );
          expect(answer.content).toBe(textOf('gamma'));
        });
        expect(charge).toBe(usualCost([2, 4]));
      });

      it('charges nothing when every provider failed', async () => {
        stage.world.onAll(['alpha', 'beta', 'gamma'], answerError(503));
        const charge = await chargeOf(stage.service, payer, async () => {
          const answer = await ask(
            stage.service,
            payer.inferenceKey,
            { model: stage.world.model('trio'), stream },
            { flow },
          );
          expect(answer).toMatchObject({ status: 503, error: { type: 'provider_fallback_exhausted' } });
        });
        expect(charge).toBe(0n);
      });

      it('keeps to an exact pin: no other provider is tried', async () => {
        stage.world.on('gamma', answerError(500));
        const answer = await asks({ model: stage.world.model('trio'), stream, provider: 'gamma' }, { flow });
        expect(answer).toMatchObject({ status: 502, error: { type: 'provider_error' } });
        expect(stage.world.called).toEqual(['gamma']);
      });

      it('reports unlisted providers as `other`', async () => {
        const model = stage.world.model('partners');
        const answer = await asks({ model, stream, provider: 'other' }, { flow });
        expect(answer.content).toBe(textOf('shade'));
        expect(answer.headers.get('x-router-provider')).toBe('other');
        expect(answer.headers.get('x-router-selected-model')).toBe(`other/${model}`);
        expect(answer.text.match(/shade/g)).toHaveLength(1);
        expect(JSON.stringify([...answer.headers])).not.toMatch(/shade/);
      });

      it('never sends plaintext to an end-to-end-encrypted provider, pinned or alone or cheapest', async () => {
        for (const body of [
          { model: stage.world.model('sealed') },
          { model: stage.world.model('sealed'), provider: { only: ['seal'], minimum_privacy: 'e2ee' } },
          { model: stage.world.model('tiers'), provider: 'seal' },
        ]) {
          const answer = await asks({ ...body, stream }, { flow });
          expect(answer).toMatchObject({ status: 403, error: { type: 'no_provider_route_meets_privacy' } });
        }
        await asks({ model: stage.world.model('tiers'), stream, provider: { sort: 'price' } }, { flow });
        expect(stage.world.called).toEqual(['beta']);
      });
    });

    it('by default takes the strongest tier, whatever it costs, and steps down to no weaker one', async () => {
      expect(await tried('tiers')).toEqual(['vault']);
    });

    it('by default takes the cheapest first within a tier', async () => {
      expect(await tried('trio')).toEqual(['beta', 'alpha', 'gamma']);
    });

    it('breaks ties of price by the order of the registry', async () => {
      expect(await tried('tied')).toEqual(['alpha', 'beta', 'gamma']);
    });

    it('tries three providers at most', async () => {
      expect(await tried('five')).toEqual(['alpha', 'beta', 'gamma']);
    });

    it.each([1, 2, 3])('max_attempts %i is how many providers may be tried', async (max_attempts) => {
      expect(await tried('five', { max_attempts })).toEqual(['alpha', 'beta', 'gamma'].slice(0, max_attempts));
    });

    it('allow_fallbacks: false is a single attempt on the first eligible route', async () => {
      expect(await tried('trio', { allow_fallbacks: false })).toEqual(['beta']);
      expect(await tried('trio', { allow_fallbacks: false, order: ['gamma', 'alpha'] })).toEqual(['gamma']);
      expect(await tried('trio', { allow_fallbacks: false, only: ['alpha', 'gamma'] })).toEqual(['alpha']);
    });

    it('order is tried first and as written; the other providers follow by sort', async () => {
      expect(await tried('trio', { order: ['gamma'] })).toEqual(['gamma', 'beta', 'alpha']);
      expect(await tried('trio', { order: ['gamma', 'alpha'] })).toEqual(['gamma', 'alpha', 'beta']);
    });

    it('order may put a weaker tier first, and allows steps down to the tiers it names', async () => {
      expect(await tried('tiers', { order: ['beta', 'vault'] })).toEqual(['beta', 'vault', 'alpha']);
      expect(await tried('tiers', { order: ['vault', 'anon'] })).toEqual(['vault', 'anon']);
    });

    it('only: no other provider is used', async () => {
      expect(await tried('trio', { only: ['gamma', 'alpha'] })).toEqual(['alpha', 'gamma']);
      expect(await tried('trio', { only: ['gamma'] })).toEqual(['gamma']);
    });

    it('ignore: never used', async () => {
      expect(await tried('trio', { ignore: ['beta'] })).toEqual(['alpha', 'gamma']);
      expect(await tried('trio', { only: ['alpha', 'beta'], ignore: ['gamma'] })).toEqual(['beta', 'alpha']);
    });

    it('an id matches its variants and regions, and a region only itself', async () => {
      expect(await tried('regions', { only: ['acme'] })).toEqual(['acme', 'acme/eu']);
      expect(await tried('regions', { only: ['acme/eu'] })).toEqual(['acme/eu']);
      expect(await tried('regions', 'acme/eu')).toEqual(['acme/eu']);
      expect(await tried('regions', { ignore: ['acme'] })).toEqual(['alpha']);
      expect(await tried('regions', { ignore: ['acme/eu'] })).toEqual(['alpha', 'acme']);
      expect(await tried('regions', { order: ['acme'] })).toEqual(['acme', 'acme/eu', 'alpha']);
      expect(await tried('regions', { order: ['acme/eu'] })).toEqual(['acme/eu', 'alpha', 'acme']);
    });

    it('`other` matches every unlisted provider, in only, ignore, order and as a pin', async () => {
      expect(await tried('partners', { only: ['other'] })).toEqual(['shade', 'dusk']);
      expect(await tried('partners', { ignore: ['other'] })).toEqual(['alpha']);
      expect(await tried('partners', { order: ['other'] })).toEqual(['shade', 'dusk', 'alpha']);
      expect(await tried('partners', 'other')).toEqual(['shade']);
    });

    it('sort: price is cheapest first and never below private, unless the request asks for anonymous', async () => {
      expect(await tried('tiers', { sort: 'price' })).toEqual(['beta', 'alpha', 'vault']);
      expect(await tried('tiers', { sort: 'price', minimum_privacy: 'anonymous' })).toEqual(['anon', 'beta', 'alpha']);
    });

    it.each([':floor', ':nitro'])('the suffix %s sorts, with the floor that such a sort carries', async (suffix) => {
      expect(await tried('tiers', undefined, { suffix })).toEqual(['beta', 'alpha', 'vault']);
    });

    it('answers with the canonical id if the request had a suffix', async () => {
      const model = stage.world.model('tiers');
      const answer = await asks({ model: `${model}:floor` });
      expect(answer.body.model).toBe(model);
      expect(answer.headers.get('x-router-selected-model')).toBe(`beta/${model}`);
      expect(answer.headers.get('x-router-routing')).toBe('exact');
    });

    it('sort: latency and throughput use health and price if there are too few measurements', async () => {
      expect(await tried('trio', { sort: 'latency' })).toEqual(['beta', 'alpha', 'gamma']);
      expect(await tried('trio', { sort: 'throughput' })).toEqual(['beta', 'alpha', 'gamma']);
    });

    it('sort: latency and throughput use measurements, and a failed route still goes behind', async () => {
      const model = stage.world.model('measured');
      // Answers that take less than 10 ms have no measured speed.
      for (const [id, ms] of [
        ['alpha', 800],
        ['beta', 30],
      ] as const) {
        stage.world.on(id, (request, response) => {
          setTimeout(() => answerChat()(request, response), ms);
        });
      }
      const pins = ['alpha', 'beta'].flatMap((id) => Array<string>(25).fill(id));
      await Promise.all(pins.map((provider) => asks({ model, provider })));
      stage.world.onAll(catalogOrder, answerError(403));
      const order = async (more: object): Promise<string> => {
        stage.world.called.length = 0;
        await asks({ model, ...more });
        return stage.world.called.join();
      };
      // Measured providers come before unmeasured ones, and fast ones before slow ones.
      const byLatency = { provider: { sort: 'latency' } };
      await until(async () => (await order(byLatency)) === 'beta,alpha,gamma', 'measurements are read');
      expect(await order({ provider: { sort: 'throughput' } })).toBe('beta,alpha,gamma');
      expect(await order({ model: `${model}:nitro` })).toBe('beta,alpha,gamma');
      expect(await order({ provider: { sort: 'price' } })).toBe('alpha,gamma,beta');
      stage.world.on('beta', answerError(500));
      await order({ provider: 'beta' });
      stage.world.on('beta', answerError(403));
      expect(await order(byLatency)).toBe('alpha,gamma,beta');
    });

    it('sort: privacy is the strongest tier first', async () => {
      expect(await tried('tiers', { sort: 'privacy', minimum_privacy: 'private' })).toEqual(['vault', 'beta', 'alpha']);
    });

    it('minimum_privacy bounds every attempt, and allows the steps down to it', async () => {
      expect(await tried('tiers', { minimum_privacy: 'tee' })).toEqual(['vault']);
      expect(await tried('tiers', { minimum_privacy: 'private', ignore: ['vault'] })).toEqual(['beta', 'alpha']);
      const weakest = { minimum_privacy: 'anonymous', ignore: ['vault'] };
      expect(await tried('tiers', weakest)).toEqual(['beta', 'alpha', 'anon']);
    });

    it.each([
      [{ input: 5 }, ['alpha']],
      [{ output: 25 }, ['gamma', 'beta']],
      [{ input: 12, output: 20 }, ['gamma']],
      [{ input: 10, output: 20 }, ['gamma']],
    ])('max_price %j skips the routes above it', async (max_price, expected) => {
      const providers = await tried('lopsided', { max_price });
      expect(new Set(providers)).toEqual(new Set(expected));
    });

    it('tools are only sent to routes that support them', async () => {
      const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
      expect(await tried('skilled', undefined, { tools })).toEqual(['gamma']);
    });

    it('require_parameters: only routes that support every requested parameter', async () => {
      const reasoning_effort = 'low';
      expect(await tried('skilled', { require_parameters: true }, { reasoning_effort })).toEqual(['beta']);
      expect(await tried('skilled', { require_parameters: false }, { reasoning_effort })).toContain('alpha');
      expect(await tried('skilled', { require_parameters: true })).toEqual(['alpha', 'beta', 'gamma']);
    });

    it.each(flows)('bills a fallback under the serving provider, with its attempts (%s)', async (flow) => {
      stage.world.on('beta', answerError(500));
      const model = stage.world.model('trio');
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
