import { chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../json.ts';
import { models } from '../testing/answers.ts';
import { readMessagesRequest } from './read-request.ts';

const user = { role: 'user', content: 'hi' };
const read = (more: object = {}) =>
  readMessagesRequest({ model: 'acme/small', max_tokens: 100, messages: [user], ...more }, models);
/** The chat request, as the service parses it. */
const chat = (more: object = {}) => {
  const { body } = read(more);
  chatRequestSchema.parse(body);
  return body;
};

describe('a request of the Messages API', () => {
  it('becomes a chat request', () => {
    expect(
      chat({
        system: 'Be brief.',
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        stop_sequences: ['END', 'STOP'],
        stream: true,
      }),
    ).toEqual({
      model: 'acme/small',
      messages: [{ role: 'system', content: 'Be brief.' }, user],
      max_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop: ['END', 'STOP'],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('keeps every digit of a schema and of earlier arguments, and the order of their names', () => {
    const text = '{"b":{"enum":[9007199254740993]},"10":{},"2":18446744073709551615}';
    const exact = parseExact(text);
    const { body } = read({
      tools: [{ name: 'f', input_schema: exact }],
      output_config: { format: { type: 'json_schema', schema: exact } },
      messages: [user, { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: exact }] }],
    });
    expect(JSON.stringify(body).replaceAll('\\', '').split(text)).toHaveLength(4);
  });

  it('drops fields without a counterpart, and those that would link requests', () => {
    const ignored = {
      metadata: { user_id: 'device-1' },
      service_tier: 'auto',
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      container: 'c',
      a_field_of_the_future: { x: 1 },
      stop_sequences: [],
    };
    expect(chat(ignored)).toEqual(chat());
  });

  it('asks for no more output than the model can give', () => {
    expect(chat({ max_tokens: 32_000 }).max_tokens).toBe(8000);
    expect(chat({ model: 'other/model', max_tokens: 32_000 }).max_tokens).toBe(32_000);
  });

  it('asks for the model that the name stands for', () => {
    const mapped = { ...models, resolve: () => 'acme/small' };
    expect(readMessagesRequest({ model: 'claude-x', messages: [user] }, mapped).body.model).toBe('acme/small');
  });

  it('passes on the schema of a structured output, under both of its names', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
    const format = { type: 'json_schema', schema };
    expect(chat({ output_config: { format } })).toMatchObject({ response_format });
    expect(chat({ output_format: format })).toMatchObject({ response_format });
    expect(chat({ output_config: { effort: 'low' } }).response_format).toBeUndefined();
  });

  it.each([
    ['no object', 'x', undefined],
    ['no model', { model: '' }, 'model'],
    ['a thread that was kept', { thread: { type: 'create' } }, 'thread'],
    ['messages of another type', { messages: 'hi' }, 'messages'],
    ['a role that there is not', { messages: [{ role: 'tool', content: '' }] }, 'messages.0.role'],
    ['content of another type', { messages: [{ role: 'user', content: 7 }] }, 'messages.0.content'],
    [
      'text of another type',
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'messages.0.content.0.text',
    ],
  ])('is refused for %s', (_, more, param) => {
    const fault = (): unknown => (typeof more === 'string' ? readMessagesRequest(more, models) : read(more));
    expect(fault).toThrow(expect.objectContaining({ type: 'invalid_request', param }));
  });
});

describe('thinking', () => {
  const reasoning = (more: object): object => {
    const { reasoning: selected, reasoning_effort } = chat(more);
    return { ...(selected ? { reasoning: selected } : {}), ...(reasoning_effort ? { reasoning_effort } : {}) };
  };

  it.each([
    [{}, {}],
    [{ thinking: { type: 'disabled' } }, { reasoning: { enabled: false } }],
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'high' } }, { reasoning: { enabled: false } }],
    [{ thinking: { type: 'adaptive' } }, { reasoning: { enabled: true } }],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }, { reasoning_effort: 'xhigh' }],
    [{ output_config: { effort: 'max' } }, { reasoning_effort: 'max' }],
    [{ output_config: { effort: 'extreme' } }, {}],
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, { reasoning_effort: 'low' }],
    [{ thinking: { type: 'enabled', budget_tokens: 10_000 } }, { reasoning_effort: 'medium' }],
    [{ thinking: { type: 'enabled', budget_tokens: 31_999 } }, { reasoning_effort: 'high' }],
    [
      { thinking: { type: 'enabled', budget_tokens: 1024 }, output_config: { effort: 'high' } },
      { reasoning_effort: 'high' },
    ],
  ])('%j selects %j', (more, selected) => {
    expect(reasoning(more)).toEqual(selected);
  });
});

describe('tools', () => {
  const input_schema = { type: 'object', properties: { path: { type: 'string' } } };
  const bash = { name: 'bash', description: 'Runs it', input_schema };
  const chatTool = { type: 'function', function: { name: 'bash', description: 'Runs it', parameters: input_schema } };

  it('keep their schema, their strictness and their cache mark', () => {
    const marked = {
      ...bash,
      name: 'sh',
      type: 'custom',
      strict: true,
      cache_control: { type: 'ephemeral', ttl: '1h' },
    };
    expect(chat({ tools: [bash, marked] }).tools).toEqual([
      chatTool,
      {
        ...chatTool,
        function: { ...chatTool.function, name: 'sh', strict: true },
        cache_control: { type: 'ephemeral' },
      },
    ]);
  });

  it('are those that blocks within the conversation have added, without those that they have removed', () => {
    const other = { ...bash, name: 'other' };
    const added = { type: 'tool_addition', tool: { type: 'tool_definition', definition: { ...bash, name: 'late' } } };
    const change = (type: string, name: string): object => ({ type, tool: { type: 'tool_reference', name } });
    const system = {
      role: 'system',
      content: [added, change('tool_removal', 'bash'), change('tool_removal', 'other')],
    };
    const again = { role: 'system', content: [change('tool_addition', 'other')] };
    const { body } = read({ tools: [bash, other], messages: [user, system, again] });
    expect(body.tools?.map((tool) => tool.function.name)).toEqual(['other', 'late']);
    expect(body.messages).toEqual([user]);
  });

  it('that only the vendor can run are left out, with a note', () => {
    const hosted = [
      { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
    ];
    const { body, notes } = read({ tools: [...hosted, bash] });
    expect(body.tools).toEqual([chatTool]);
    expect(notes).toEqual(['Left out tools that only Anthropic can run: web_search, str_replace_based_edit_tool.']);
  });

  it.each([
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools', 'web_search'],
    [{ mcp_servers: [{ type: 'url', name: 'files', url: 'https://mcp.test' }] }, 'mcp_servers', 'files'],
  ])('that only the vendor can run are refused if the model would have no others: %j', (more, param, name) => {
    const message = `Only Anthropic can run \`${name}\`. This service runs no tools: offer your own.`;
    expect(() => read(more)).toThrow(expect.objectContaining({ type: 'invalid_request', param, message }));
  });

  it('that are left out cannot be forced', () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    expect(() => read({ tools, tool_choice: { type: 'tool', name: 'web_search' } })).toThrow(
      expect.objectContaining({ type: 'invalid_request', param: 'tool_choice' }),
    );
  });

  it.each([
    [{ type: 'auto' }, { tool_choice: 'auto' }],
    [{ type: 'any' }, { tool_choice: 'required' }],
    [{ type: 'none' }, { tool_choice: 'none' }],
    [{ type: 'tool', name: 'bash' }, { tool_choice: { type: 'function', function: { name: 'bash' } } }],
    [
      { type: 'auto', disable_parallel_tool_use: true },
      { tool_choice: 'auto', parallel_tool_calls: false },
    ],
    [undefined, {}],
  ])('are chosen by %j', (tool_choice, chosen) => {
    const { tool_choice: choice, parallel_tool_calls: parallel } = chat({ tools: [bash], tool_choice });
    expect({
      ...(choice ? { tool_choice: choice } : {}),
      ...(parallel === undefined ? {} : { parallel_tool_calls: parallel }),
    }).toEqual(chosen);
  });
});
