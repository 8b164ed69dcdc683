import { describe, expect, it } from 'vitest';
import { chat, target } from '../testing/fixtures.ts';
import { chatRequest } from './chat-request.ts';

/** Returns the upstream body for a client's body. */
const upstream = (body: object = {}, more: Parameters<typeof target>[0] = {}): Record<string, unknown> =>
  JSON.parse(chatRequest(chat(body), target(more)).body);

const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };

describe('the upstream request', () => {
  it('has only the model of the route, the messages and the output limit for a minimal request', () => {
    expect(upstream()).toEqual({
      model: 'small-v1',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 1000,
      stream: false,
    });
  });

  it('is built field by field, from validated parts of the body only', () => {
    const unknown = {
      provider: { only: ['acme'] },
      models: ['acme/large'],
      transforms: ['middle-out'],
      route: 'fallback',
      usage: { include: true },
      plugins: [{ id: 'web' }],
      functions: [{ name: 'f' }],
      function_call: 'auto',
      logit_bias: { 1: 100 },
      logprobs: true,
      top_logprobs: 5,
      n: 1,
      store: true,
      metadata: { account: 'CANARY' },
      prompt_cache_key: 'CANARY',
      safety_identifier: 'CANARY',
      service_tier: 'priority',
      acme_parameters: { strip_thinking_response: true },
      reasoning: { enabled: true },
      stream_options: { include_usage: false, include_obfuscation: true },
    };
    expect(upstream(unknown)).toEqual(upstream());
  });

  it('drops unknown fields inside messages, parts, tools and formats, too', () => {
    const sent = upstream({
      messages: [
        { role: 'system', content: 'be brief', cache_control: { type: 'ephemeral', ttl: 'CANARY' } },
        { role: 'user', content: [{ type: 'text', text: 'look', cache_control: { type: 'ephemeral' } }], id: 'CANARY' },
        { role: 'assistant', content: 'ok', reasoning: 'CANARY', audio: { id: 'CANARY' }, function_call: 'CANARY' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA', x: 'CANARY' } }] },
      ],
      tools: [{ ...tool, CANARY: 1, cache_control: { type: 'ephemeral' }, function: { ...tool.function, CANARY: 1 } }],
      response_format: { type: 'json_object', CANARY: 1 },
    });
    expect(JSON.stringify(sent)).not.toMatch(/CANARY|cache_control/);
    expect(sent.messages).toHaveLength(4);
  });

  it('has every supported parameter, unchanged', () => {
    const through = {
      temperature: 0,
      top_p: 0.5,
      stop: ['a', 'b'],
      seed: 0,
      frequency_penalty: -1,
      presence_penalty: 0,
      tools: [tool],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true, schema: { type: 'object' } } },
      user: 'u-1',
    };
    expect(upstream(through)).toMatchObject(through);
  });

  it('has a multi-turn conversation with tool calls, unchanged', () => {
    const messages = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'weather?', name: 'ann' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"a":"\\"é"}' } }],
      },
      { role: 'tool', content: 'sunny', tool_call_id: 'c1' },
    ];
    expect(upstream({ messages, tools: [tool] }).messages).toEqual(messages);
  });

  it('leaves out the fields that the provider refuses, and has the seed in the field that it accepts', () => {
    const body = { user: 'u-1', seed: 7, messages: [{ role: 'user', content: 'hi', name: 'ann' }] };
    const omitted_fields = ['user' as const, 'name' as const];
    const dialect = { ...target().dialect, omitted_fields, seed_field: 'random_seed' as const };
    expect(upstream(body, { dialect })).toEqual({ ...upstream(), random_seed: 7 });
  });

  it('has earlier reasoning in the field that the provider accepts, or not at all', () => {
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1' }];
    const thought = { role: 'assistant', content: 'ok', reasoning: 'hm', reasoning_details: details };
    const alias = { role: 'assistant', content: 'ok', reasoning_content: 'hm' };
    const plain = { role: 'assistant', content: 'ok' };
    expect(upstream({ messages: [thought, alias] }).messages).toEqual([plain, plain]);
    const dialect = { ...target().dialect, reasoning_field: 'reasoning_content' as const };
    expect(upstream({ messages: [thought, alias, plain] }, { dialect }).messages).toEqual([alias, alias, plain]);
  });

  it('omits fields that are null', () => {
    const nulls = Object.fromEntries(
      [
        ...['temperature', 'top_p', 'stop', 'seed', 'frequency_penalty', 'presence_penalty', 'tools', 'tool_choice'],
        ...['parallel_tool_calls', 'response_format', 'reasoning_effort', 'reasoning', 'user', 'n', 'stream'],
        ...['max_tokens', 'max_completion_tokens', 'stream_options', 'provider', 'models'],
      ].map((name) => [name, null]),
    );
    expect(upstream(nulls)).toEqual(upstream());
    const inside = upstream({
      messages: [{ role: 'assistant', content: 'x', refusal: null }],
      tools: [{ ...tool, function: { ...tool.function, strict: null } }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', strict: null } },
    });
    expect(JSON.stringify(inside)).not.toContain('null');
  });

  it('has no tool choice without tools', () => {
    const sent = upstream({ tools: [], tool_choice: 'auto', parallel_tool_calls: true });
    expect(sent).toEqual(upstream());
  });

  it('has the output limit of the route in the field that the provider accepts, whichever the client used', () => {
    const asked = { max_tokens: 5, max_completion_tokens: 5 };
    expect(upstream(asked, { maxOutputTokens: 3 })).toEqual({ ...upstream(), max_tokens: 3 });
    const dialect = { ...target().dialect, max_tokens_field: 'max_completion_tokens' as const };
    const sent = upstream(asked, { maxOutputTokens: 3, dialect });
    expect(sent.max_completion_tokens).toBe(3);
    expect(sent).not.toHaveProperty('max_tokens');
  });

  it('has the effort of the target, not of the body', () => {
    expect(upstream({ reasoning_effort: 'high' })).not.toHaveProperty('reasoning_effort');
    expect(upstream({}, { reasoning: { effort: 'low' } }).reasoning_effort).toBe('low');
  });

  it('switches thinking off with the field that the provider accepts', () => {
    expect(upstream({ reasoning: { enabled: false } })).toEqual(upstream());
    expect(upstream({}, { reasoning: 'off' })).toEqual({ ...upstream(), reasoning_effort: 'none' });
    const dialect = { ...target().dialect, reasoning_off: { thinking: { type: 'disabled' } } };
    expect(upstream({}, { reasoning: 'off', dialect })).toEqual({ ...upstream(), thinking: { type: 'disabled' } });
    const extraBody = { thinking: { type: 'enabled' }, reasoning_effort: 'high' };
    expect(upstream({}, { reasoning: 'off', dialect, extraBody })).toEqual({
      ...upstream(),
      thinking: { type: 'disabled' },
    });
  });

  it('has the extra body, which never replaces our own fields, not even absent ones', () => {
    const extraBody = { store: false, top_k: 5, model: 'X', messages: [], stream: true, temperature: 2, tools: [tool] };
    expect(upstream({}, { extraBody })).toEqual({ ...upstream(), store: false, top_k: 5 });
  });
});

describe('a stream', () => {
  it('requests usage of a provider that accepts the field, whether or not the client asks for it', () => {
    for (const stream_options of [undefined, null, {}, { include_usage: false }, { include_usage: true }]) {
      expect(upstream({ stream: true, stream_options })).toMatchObject({
        stream: true,
        stream_options: { include_usage: true },
      });
    }
    expect(upstream({ stream: false })).not.toHaveProperty('stream_options');
  });

  it('has no `stream_options` for a provider that refuses them', () => {
    const dialect = { ...target().dialect, omitted_fields: ['stream_options' as const] };
    expect(upstream({ stream: true }, { dialect })).toEqual({ ...upstream(), stream: true });
  });

  it('accepts events, and a whole answer accepts JSON', () => {
    expect(chatRequest(chat({ stream: true }), target())).toMatchObject({
      path: '/chat/completions',
      accept: 'text/event-stream',
    });
    expect(chatRequest(chat(), target()).accept).toBe('application/json');
  });
});
