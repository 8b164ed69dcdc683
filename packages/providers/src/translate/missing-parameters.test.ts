import { parseRegistry, publicRegistry } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { loadAdapter } from '../load-adapter.ts';
import { hi, tool } from '../testing/field-rows.ts';
import { chat, target } from '../testing/fixtures.ts';

const values = {
  temperature: 0.5,
  top_p: 0.5,
  stop: 'END',
  seed: 7,
  frequency_penalty: 1,
  presence_penalty: 1,
  repetition_penalty: 1.1,
  top_k: 7,
  min_p: 0.1,
  response_format: { type: 'json_object' },
  tool_choice: 'required',
  parallel_tool_calls: false,
} as const;

const upstreamModels = {
  openai: 'gpt-5',
  azure: 'gpt-5',
  anthropic: 'claude-sonnet-4-5',
  google: 'gemini-2.5-pro',
  bedrock: 'anthropic.claude-sonnet-4-5',
} as const;

describe.each(Object.entries(upstreamModels))('the registry says of %s', (adapterName, upstreamModel) => {
  it('exactly which parameters its adapter does not send, so that `require_parameters` skips it', async () => {
    const name = adapterName as keyof typeof upstreamModels;
    const parsed = parseRegistry(
      `providers: [{id: acme, name: Acme, adapter: ${name}, base_url: "https://acme.example", privacy_class: private}]`,
      'digest',
    );
    if (!parsed.ok) throw new Error('not parsed');
    const [provider] = publicRegistry(parsed.value, () => true).providers;
    const adapter = await loadAdapter(name);
    const bodyWith = (fields: object): string => {
      const request = adapter.chatRequest(
        chat({ messages: [hi], tools: [tool], ...fields }),
        target({ upstreamModel }),
      );
      if ('unsupported' in request) throw new Error(request.unsupported);
      return request.body;
    };
    const plain = bodyWith({});
    const dropped = Object.entries(values).flatMap(([field, value]) =>
      bodyWith({ [field]: value }) === plain ? field : [],
    );
    expect(dropped.toSorted()).toEqual((provider?.missing_parameters ?? []).toSorted());
  });
});
