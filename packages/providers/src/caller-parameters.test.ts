import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AdapterName, adapterModelTypes } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { parameterPaths, refusedParameter } from './caller-parameters.ts';
import { loadAdapter } from './load-adapter.ts';

const names = Object.keys(adapterModelTypes) as AdapterName[];

/**
 * Each parameter changes a price or the number of answers, stores or shares data, runs code, or repeats a field of the
 * request.
 */
const harmful: Readonly<Record<string, unknown>> = {
  ...{
    n: 8,
    N: 8,
    best_of: 8,
    candidateCount: 8,
    use_beam_search: true,
    prompt_logprobs: 20,
    logprobs: true,
    echo: true,
  },
  ...{ service_tier: 'priority', Service_Tier: 'priority', serviceTier: 'p', speed: 'fast', performanceConfig: {} },
  ...{ store: true, metadata: {}, labels: {}, requestMetadata: {}, user: 'u', safety_identifier: 'x', deferred: true },
  ...{ prompt_cache_key: 'k', cachedContent: 'c', cached_content: 'c', cache_salt: 's', kv_transfer_params: {} },
  ...{ chat_template: '{{x}}', chat_template_kwargs: {}, logits_processors: ['os.system'], mm_processor_kwargs: {} },
  ...{ tools: [], plugins: [], search_parameters: {}, web_search_options: {}, enable_search: true, mcp_servers: [] },
  ...{ messages: [], contents: [], system: 'x', systemInstruction: {}, system_instruction: {}, documents: [] },
  ...{ model: 'x', stream: true, max_tokens: 1e6, maxOutputTokens: 1e6, thinking: {}, reasoning_effort: 'high' },
  ...{ generation_config: {}, toolConfig: {}, inferenceConfig: {}, priority: -1, request_id: 'x', vllm_xargs: {} },
  ...{ ignore_eos: true, constructor: 1, toString: 1, '': 1 },
};

describe.each(names)('the parameters that callers may set at %s', async (name) => {
  const { callerParameters } = await loadAdapter(name);

  it.each(Object.entries(harmful))('do not include %s', (parameter, value) => {
    expect(refusedParameter({ [parameter]: value }, callerParameters)).toEqual([parameter]);
  });

  it('do not include `__proto__`', () => {
    expect(refusedParameter(JSON.parse('{"__proto__": {"n": 8}}'), callerParameters)).toEqual(['__proto__']);
  });

  it('are those of the guide', () => {
    const guide = readFileSync(join(import.meta.dirname, '../../../docs/use/parameters.md'), 'utf8');
    const row = guide.split('\n').find((line) => line.startsWith(`| \`${name}\` |`));
    const documented = [...(row?.split('|')[2] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1]);
    expect(row).toBeDefined();
    expect(documented).toEqual(parameterPaths(callerParameters));
  });
});

describe('refusedParameter', () => {
  const taken = { top_k: true, config: { topK: true, deep: { x: true } } } as const;

  it.each([
    [{}, undefined],
    [{ top_k: { anything: 1 } }, undefined],
    [{ config: { topK: 1, deep: { x: [1] } } }, undefined],
    [{ Top_K: 1 }, ['Top_K']],
    [{ top_k: 1, config: { topk: 1 } }, ['config', 'topk']],
    [{ config: { deep: { x: 1, y: 2 } } }, ['config', 'deep', 'y']],
    [{ config: 7 }, ['config']],
    [{ config: [{ topK: 1 }] }, ['config']],
    [{ config: null }, ['config']],
  ])('returns for %j: %j', (given, refused) => {
    expect(refusedParameter(given, taken)).toEqual(refused);
  });
});
