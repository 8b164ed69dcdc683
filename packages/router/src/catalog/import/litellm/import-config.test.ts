import { readYaml } from '@sotto/yaml';
import { describe, expect, it } from 'vitest';
import { checkCatalog } from '../../parse-catalog.ts';
import { parseRegistry, publicRegistry } from '../../registry.ts';
import { importLiteLlm } from './import-config.ts';

const builtInRegistry = `providers:
  - id: openai
    name: OpenAI
    adapter: openai
    base_url: https://api.openai.com/v1
    api_key_env: OPENAI_API_KEY
    privacy_class: anonymous
    request: { max_tokens_field: max_completion_tokens }
`;
const facts = {
  mode: 'chat',
  max_input_tokens: 128000,
  max_output_tokens: 16384,
  input_cost_per_token: 2.5e-6,
  output_cost_per_token: 1e-5,
};
const prices = {
  'gpt-4o': { ...facts, litellm_provider: 'openai', supports_function_calling: true },
  'azure/gpt-4o': { ...facts, litellm_provider: 'azure', input_cost_per_token: 2.75e-6 },
};

function read(text: string) {
  const imported = importLiteLlm(text, { builtInRegistry, prices, privacyClass: 'anonymous', asOf: '2026-07-01' });
  if (!imported.ok) throw new Error(JSON.stringify(imported.problems));
  const { registry, catalog, notes, ...more } = imported.value;
  const listsIn = (made: string) => {
    const source = readYaml(made);
    return source.ok ? (source.value.value as Record<string, Record<string, unknown>[]>) : {};
  };
  const parsed = parseRegistry(registry, 'd');
  const isSound = () => [
    ...(parsed.ok ? [] : parsed.problems),
    ...checkCatalog(catalog, parsed.ok ? publicRegistry(parsed.value, () => true) : undefined, '2026-07-01').problems,
  ];
  return {
    ...more,
    isSound,
    notes: notes.map(({ line, message }) => `${line}: ${message}`),
    providers: listsIn(registry).providers ?? [],
    models: listsIn(catalog).models ?? [],
  };
}

describe('a configuration of LiteLLM', () => {
  it('becomes providers with weighted keys, and models with routes and exact prices', () => {
    const made = read(`model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_ONE, weight: 3 }
  - model_name: gpt-4o
    litellm_params: { model: gpt-4o, api_key: os.environ/OPENAI_TWO, weight: 1, timeout: 20 }
  - model_name: gpt-4o
    litellm_params:
      model: azure/my-deployment
      api_base: https://mine.openai.azure.com/
      api_key: os.environ/AZURE_API_KEY
      api_version: "2024-10-21"
    model_info: { base_model: azure/gpt-4o }
  - model_name: own/llama
    litellm_params: { model: hosted_vllm/llama-3, api_base: http://localhost:8000, input_cost_per_token: 1e-7, output_cost_per_token: 0.0000002 }
    model_info: { mode: chat, max_input_tokens: 8192 }
`);
    expect(made.isSound()).toEqual([]);
    const openai = {
      name: 'OpenAI',
      adapter: 'openai',
      base_url: 'https://api.openai.com/v1',
      privacy_class: 'anonymous',
      request: { max_tokens_field: 'max_completion_tokens' },
    };
    expect(made.providers).toEqual([
      { id: 'openai', ...openai, api_key_env: 'OPENAI_ONE' },
      { id: 'openai/2', ...openai, timeouts: { total_ms: 20000 }, api_key_env: 'OPENAI_TWO' },
      {
        id: 'azure',
        name: 'azure',
        adapter: 'azure',
        base_url: 'https://mine.openai.azure.com/openai/v1',
        privacy_class: 'anonymous',
        api_key_env: 'AZURE_API_KEY',
      },
      {
        id: 'hosted-vllm',
        name: 'hosted_vllm',
        adapter: 'openai',
        base_url: 'http://localhost:8000/v1',
        privacy_class: 'anonymous',
      },
    ]);
    expect(made.models).toMatchObject([
      {
        ...{ id: 'openai/gpt-4o', model_type: 'text', context_length: 128000 },
        routes: [
          {
            provider: 'openai',
            upstream_model: 'gpt-4o',
            pricing: { input: 2.5, output: 10 },
            capabilities: { tools: true },
          },
          { provider: 'openai/2', upstream_model: 'gpt-4o' },
          { provider: 'azure', upstream_model: 'my-deployment', pricing: { input: 2.75, output: 10 } },
        ],
      },
      {
        id: 'own/llama',
        context_length: 8192,
        routes: [{ upstream_model: 'llama-3', pricing: { input: 0.1, output: 0.2 } }],
      },
    ]);
    expect(made.renamed).toEqual([['gpt-4o', 'openai/gpt-4o']]);
    expect(made.variables).toEqual(['AZURE_API_KEY', 'OPENAI_ONE', 'OPENAI_TWO']);
    expect(made.notes).toEqual([
      '2: `model_list[0]`: its weights divide keys of one provider; between providers, routing decides',
    ]);
  });

  it('puts several keys for one model at one server together', () => {
    const deployment = (key: string, share: string) =>
      `  - { model_name: gpt-4o, litellm_params: { model: openai/gpt-4o, api_key: os.environ/${key}, ${share} } }\n`;
    const made = read(`model_list:\n${deployment('ONE', 'rpm: 900')}${deployment('TWO', 'rpm: 100')}`);
    expect(made.isSound()).toEqual([]);
    expect(made.providers).toMatchObject([
      {
        id: 'openai',
        api_keys: [
          { env: 'ONE', weight: 900 },
          { env: 'TWO', weight: 100 },
        ],
      },
    ]);
    expect(made.models).toMatchObject([{ routes: [{ provider: 'openai' }] }]);
    expect(made.notes).toHaveLength(2);
    expect(made.notes[0]).toBe(
      '2: `model_list[0].litellm_params.rpm`: it is taken as the weight of the key, not as a limit',
    );
  });

  it('names each thing that it could not translate, with its line and the reason, and never quotes a key', () => {
    const made = read(`model_list:
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o
      api_key: sk-secret
      temperature: 0.2
  - model_name: openai/*
    litellm_params: { model: openai/* }
  - model_name: vertex
    litellm_params: { model: vertex_ai/gemini-2.5-pro }
  - model_name: elsewhere
    litellm_params: { model: openai/unknown, api_base: os.environ/BASE }
  - model_name: unpriced
    litellm_params: { model: openai/unknown }
  - litellm_params: { model: openai/gpt-4o }
router_settings:
  routing_strategy: latency-based-routing
  fallbacks: [{ gpt-4o: [unpriced] }]
litellm_settings:
  drop_params: true
general_settings:
  master_key: sk-1234
environment_variables: { A: b }
`);
    expect(made.isSound()).toEqual([]);
    expect(made.models).toMatchObject([{ id: 'openai/gpt-4o' }]);
    expect(made.providers).toMatchObject([{ id: 'openai', api_key_env: 'OPENAI_KEY' }]);
    expect(made.notes.map((note) => note.split('`: ')[0])).toEqual([
      '5: `model_list[0].litellm_params.api_key',
      '6: `model_list[0].litellm_params.temperature',
      '7: `model_list[1].model_name',
      '10: `model_list[2].litellm_params.model',
      '12: `model_list[3].litellm_params.api_base',
      '13: `model_list[4].model_name',
      '15: `model_list[5].model_name',
      '17: `router_settings.routing_strategy',
      '18: `router_settings.fallbacks',
      '20: `litellm_settings.drop_params',
      '22: `general_settings.master_key',
      '23: `environment_variables',
    ]);
    const all = made.notes.join('\n');
    expect(all).toContain("set OPENAI_KEY in the broker's environment");
    expect(all).toContain('no adapter speaks to `vertex_ai`');
    expect(all).toContain('its price is not known');
    expect(JSON.stringify(made)).not.toMatch(/sk-secret|sk-1234/);
  });

  it('that is none is refused', () => {
    const options = { builtInRegistry, prices, privacyClass: 'anonymous', asOf: '2026-07-01' } as const;
    expect(importLiteLlm('models: []', options)).toMatchObject({ ok: false, problems: [{ line: 1 }] });
    expect(importLiteLlm('model_list: [', options)).toMatchObject({ ok: false });
  });
});
