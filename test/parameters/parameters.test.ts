import { beforeAll, beforeEach, expect, it } from 'vitest';
import { describeInBothPlanes } from '../kit/both-planes.ts';
import { type FakeProvider, startProvider } from '../kit/provider.ts';
import type { TestAccount } from '../kit/service.ts';

let provider: FakeProvider;
const listed = '[temperature, tools, max_tokens]';

await describeInBothPlanes(
  'parameters of a model',
  async () => {
    provider = await startProvider();
    return {
      registry: `providers:\n  - {id: acme, name: Acme, adapter: openai, base_url: "${provider.baseUrl}", privacy_class: private}\n`,
      catalog: `models:
  - id: acme/picky
    model_type: text
    context_length: 8000
    max_output_tokens: 1000
    supported_parameters: ${listed}
    parameter_ranges: {temperature: {max: 1}}
    routes:
      - provider: acme
        upstream_model: picky-v1
        privacy_class: private
        pricing: {input: 0.5, output: 1.5}
        capabilities: {tools: true}
  - id: acme/thinker
    model_type: text
    context_length: 8000
    routes:
      - provider: acme
        upstream_model: thinker-v1
        privacy_class: private
        pricing: {input: 0.5, output: 1.5}
        capabilities: {reasoning: {efforts: [low, high]}}
`,
      stop: () => provider.stop(),
    };
  },
  (planes) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await planes.service.createAccount();
    });
    beforeEach(() => {
      provider.seen.length = 0;
    });

    const ask = async (body: object) => {
      const answer = await fetch(`${planes.service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.inferenceKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/picky', messages: [{ role: 'user', content: 'hi' }], ...body }),
      });
      return {
        status: answer.status,
        json: (await answer.json()) as { error?: { type: string; param?: string; message: string } },
      };
    };
    const upstream = () => provider.seen.at(-1)?.body;

    it('reach the provider without what it would refuse, and inside its ranges', async () => {
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

    it('are all asked for by require_parameters, which names what is lacked', async () => {
      const strict = { provider: { require_parameters: true } };
      expect((await ask({ temperature: 0.5, ...strict })).status).toBe(200);
      provider.seen.length = 0;
      const { status, json } = await ask({ seed: 1, ...strict });
      expect({ status, type: json.error?.type, param: json.error?.param }).toEqual({
        status: 400,
        type: 'no_provider_route',
        param: 'provider.require_parameters',
      });
      expect(json.error?.message).toContain('`seed`');
      expect(provider.seen).toEqual([]);
    });

    it.each([
      ['medium', 'low'],
      ['max', 'high'],
      ['none', 'low'],
    ])('send the level nearest to the effort %s: %s', async (effort, sent) => {
      expect((await ask({ model: 'acme/thinker', reasoning_effort: effort })).status).toBe(200);
      expect(upstream()?.reasoning_effort).toBe(sent);
    });

    it('refuse an effort that no model knows, and a ceiling above every route’s', async () => {
      const unknown = await ask({ model: 'acme/thinker', reasoning_effort: 'hihg' });
      expect(unknown).toMatchObject({ status: 400, json: { error: { type: 'no_provider_route' } } });
      const ceiling = await ask({ max_tokens: 1001 });
      expect(ceiling).toMatchObject({ status: 400, json: { error: { type: 'context_too_large' } } });
      expect(provider.seen).toEqual([]);
    });

    it('are shown in the list of models where the catalog knows them', async () => {
      const answer = await fetch(`${planes.service.controlUrl}/catalog/models`);
      const { data } = (await answer.json()) as {
        data: { id: string; provider_routes: { supported_parameters?: string[] }[] }[];
      };
      const of = (id: string) => data.find((model) => model.id === id)?.provider_routes[0];
      expect(of('acme/picky')?.supported_parameters).toEqual(['temperature', 'tools', 'max_tokens']);
      expect(of('acme/thinker')).not.toHaveProperty('supported_parameters');
    });
  },
);
