import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ask as askAs } from '../../kit/client.ts';
import { answerError } from '../../kit/provider.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const listed = ['temperature', 'tools', 'max_tokens'];
const route = (upstream: string, capabilities: object = {}) =>
  ({ upstream, pricing: [0.5, 1.5], capabilities }) as const;

await describeStage(
  'parameters of a model',
  {
    providers: { 'acme/eu': {}, beta: {} },
    models: {
      'acme/picky': {
        routes: { 'acme/eu': route('picky-v1', { tools: true }) },
        supported_parameters: listed,
        parameter_ranges: { temperature: { max: 1 } },
      },
      'acme/thinker': { routes: { 'acme/eu': route('thinker-v1', { reasoning: { efforts: ['low', 'high'] } }) } },
      'acme/twice': { routes: { 'acme/eu': route('twice-v1'), beta: route('twice-v1') } },
    },
  },
  (stage) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await stage.service.createAccount();
    });
    beforeEach(() => stage.reset());

    const ask = async (body: object) => {
      const { status, json } = await askAs(stage.service, account.inferenceKey, { model: 'acme/picky', ...body });
      return { status, json: json as { error?: { type: string; param?: string; message: string } } };
    };
    const upstream = () => stage.provider('acme/eu').seen.at(-1)?.body;

    it('reach the provider within its ranges, without those that it would reject', async () => {
      const body = {
        temperature: 1.5,
        top_p: 0.5,
        seed: 1,
        stop: ['x'],
        response_format: { type: 'json_object' },
        max_tokens: 50,
      };
      expect((await ask(body)).status).toBe(200);
      expect(upstream()).toMatchObject({ model: 'picky-v1', temperature: 1, max_tokens: 50 });
      for (const name of ['top_p', 'seed', 'stop', 'response_format']) expect(upstream()).not.toHaveProperty(name);
    });

    it('are all required by require_parameters, and the error names the missing ones', async () => {
      const strict = { provider: { require_parameters: true } };
      expect((await ask({ temperature: 0.5, ...strict })).status).toBe(200);
      stage.provider('acme/eu').seen.length = 0;
      const { status, json } = await ask({ seed: 1, ...strict });
      expect({ status, type: json.error?.type, param: json.error?.param }).toEqual({
        status: 400,
        type: 'no_provider_route',
        param: 'provider.require_parameters',
      });
      expect(json.error?.message).toContain('`seed`');
      expect(stage.provider('acme/eu').seen).toEqual([]);
    });

    it.each([
      ['medium', 'low'],
      ['max', 'high'],
      ['none', 'low'],
    ])('send the level nearest to the effort %s: %s', async (effort, sent) => {
      expect((await ask({ model: 'acme/thinker', reasoning_effort: effort })).status).toBe(200);
      expect(upstream()?.reasoning_effort).toBe(sent);
    });

    it('reject an unknown effort, and a limit above that of every route', async () => {
      const unknown = await ask({ model: 'acme/thinker', reasoning_effort: 'hihg' });
      expect(unknown).toMatchObject({ status: 400, json: { error: { type: 'no_provider_route' } } });
      const ceiling = await ask({ max_tokens: 1001 });
      expect(ceiling).toMatchObject({ status: 400, json: { error: { type: 'context_too_large' } } });
      expect(stage.provider('acme/eu').seen).toEqual([]);
    });

    describe('of one provider', () => {
      const own = (parameters: object) => ask({ model: 'acme/picky', acme_parameters: parameters });

      it('reach it unchanged, and those of a region override those of its provider', async () => {
        const all = { top_k: 7, min_p: 0.1, logit_bias: { '50256': -100 }, stop_token_ids: [1, 2] };
        const asked = { acme_parameters: all, 'acme/eu_parameters': { top_k: 9 } };
        expect((await ask(asked)).status).toBe(200);
        expect(upstream()).toMatchObject({ ...all, top_k: 9 });
      });

      it.each([
        ['n', 8],
        ['N', 8],
        ['service_tier', 'priority'],
        ['Service_Tier', 'priority'],
        ['chat_template', '{{ messages }}'],
        ['deferred', true],
        ['kv_transfer_params', { do_remote_prefill: true }],
        ['logits_processors', ['os.system']],
        ['mm_processor_kwargs', { num_crops: 99 }],
        ['Temperature', 2],
        ['anything', 1],
      ])('do not include %s, which is a 400 that names it and the supported ones', async (name, value) => {
        const { status, json } = await own({ top_k: 7, [name]: value });
        expect({ status, type: json.error?.type, param: json.error?.param }).toEqual({
          status: 400,
          type: 'invalid_request',
          param: `acme_parameters.${name}`,
        });
        expect(json.error?.message).toContain(`\`acme_parameters.${name}\` is not taken.`);
        expect(json.error?.message).toContain('`top_k`');
        expect(stage.provider('acme/eu').seen).toEqual([]);
      });

      it('are not validated for a provider that cannot serve, and are for one that may', async () => {
        const model = 'acme/twice';
        for (const policy of [{ ignore: ['acme'] }, 'beta', { only: ['beta'] }]) {
          const asked = { model, provider: policy, acme_parameters: { N: 8 }, unknown_parameters: { N: 8 } };
          expect((await ask(asked)).status).toBe(200);
          expect(stage.provider('beta').seen.at(-1)?.body).not.toHaveProperty('N');
        }
        for (const order of [
          ['beta', 'acme'],
          ['acme', 'beta'],
        ]) {
          const { status, json } = await ask({ model, provider: { order }, acme_parameters: { N: 8 } });
          expect([status, json.error?.param]).toEqual([400, 'acme_parameters.N']);
        }
        expect(stage.provider('acme/eu').seen).toEqual([]);
      });

      it('do not reach another provider that takes over', async () => {
        stage.provider('acme/eu').answer(answerError(500));
        const asked = { model: 'acme/twice', provider: { order: ['acme', 'beta'] }, acme_parameters: { top_k: 7 } };
        expect((await ask(asked)).status).toBe(200);
        expect(upstream()).toMatchObject({ top_k: 7 });
        expect(stage.provider('beta').seen.at(-1)?.body).not.toHaveProperty('top_k');
      });

      it('are for 64 providers at most', async () => {
        const many = (count: number) =>
          Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}_parameters`, {}]));
        expect((await ask(many(64))).status).toBe(200);
        const { status, json } = await ask(many(65));
        expect([status, json.error?.param]).toEqual([400, 'p64_parameters']);
      });
    });

    it('are shown in the list of models if the catalog has them', async () => {
      const answer = await fetch(`${stage.service.controlUrl}/catalog/models`);
      const { data } = (await answer.json()) as {
        data: { id: string; provider_routes: { supported_parameters?: string[] }[] }[];
      };
      const of = (id: string) => data.find((model) => model.id === id)?.provider_routes[0];
      expect(of('acme/picky')?.supported_parameters).toEqual(['temperature', 'tools', 'max_tokens']);
      expect(of('acme/thinker')).not.toHaveProperty('supported_parameters');
    });
  },
);
