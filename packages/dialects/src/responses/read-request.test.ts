import { chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { models } from '../testing/answers.ts';
import { readResponsesRequest } from './read-request.ts';

const read = (more: object = {}) => readResponsesRequest({ model: 'acme/small', input: 'hi', ...more }, models);
/** The chat request, as the service parses it. */
const chat = (more: object = {}) => {
  const { body } = read(more);
  chatRequestSchema.parse(body);
  return body;
};

describe('a request of the Responses API', () => {
  it('becomes a chat request', () => {
    expect(
      chat({
        instructions: 'Be brief.',
        max_output_tokens: 100,
        temperature: 0.5,
        top_p: 0.9,
        stream: true,
        store: false,
      }),
    ).toEqual({
      model: 'acme/small',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      max_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('drops fields without a counterpart, and those that would link requests', () => {
    const ignored = {
      prompt_cache_key: 'thread-1',
      metadata: { thread: '1' },
      client_metadata: { session_id: 's' },
      safety_identifier: 'u',
      user: 'u',
      service_tier: 'priority',
      include: ['reasoning.encrypted_content'],
      text: { verbosity: 'low' },
      truncation: 'auto',
      previous_response_id: null,
      a_field_of_the_future: 1,
    };
    expect(chat(ignored)).toEqual(chat());
  });

  it.each([
    { previous_response_id: 'resp_1' },
    { store: true },
    { conversation: 'conv_1' },
    { background: true },
    { prompt: { id: 'pmpt_1' } },
  ])('is refused if it needs an answer that was kept: %j', (more) => {
    const [param] = Object.keys(more);
    expect(() => read(more)).toThrow(
      expect.objectContaining({ type: 'invalid_request', param, message: expect.stringMatching(/keeps none/) }),
    );
  });

  it.each([
    ['no object', 'x', undefined],
    ['no model', { model: '' }, 'model'],
    ['no input', { input: undefined }, 'input'],
    ['a role that there is not', { input: [{ role: 'tool', content: 'x' }] }, 'input.0.role'],
    ['a file', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] }, 'input.0.content.0'],
    [
      'an image that was kept',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input.0.content.0.image_url',
    ],
    ['an item that was kept', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input.0'],
  ])('is refused for %s', (_, more, param) => {
    const fault = (): unknown => (typeof more === 'string' ? readResponsesRequest(more, models) : read(more));
    expect(fault).toThrow(expect.objectContaining({ type: 'invalid_request', param }));
  });

  it.each([
    [{ effort: 'high', summary: 'auto' }, 'high'],
    [{ effort: 'none' }, 'none'],
    [{ effort: 'ultra' }, undefined],
    [{ effort: null, summary: 'auto' }, undefined],
  ])('selects the effort of %j, if every model takes it', (reasoning, effort) => {
    expect(chat({ reasoning }).reasoning_effort).toBe(effort);
  });

  it('passes on the format of a text', () => {
    const schema = { type: 'object', properties: {} };
    expect(
      chat({ text: { format: { type: 'json_schema', name: 'city', schema, strict: true } } }).response_format,
    ).toEqual({
      type: 'json_schema',
      json_schema: { name: 'city', schema, strict: true },
    });
    expect(chat({ text: { format: { type: 'json_object' } } }).response_format).toEqual({ type: 'json_object' });
    expect(chat({ text: { format: { type: 'text' } } }).response_format).toBeUndefined();
  });
});

describe('tools', () => {
  const parameters = { type: 'object', properties: { cmd: { type: 'string' } } };
  const exec = { type: 'function', name: 'exec', description: 'Runs it', strict: false, parameters };
  const chatTool = { type: 'function', function: { name: 'exec', description: 'Runs it', parameters } };

  it('of the caller are offered, those of a namespace by one name each', () => {
    const namespace = { type: 'namespace', name: 'mcp__docs', tools: [{ ...exec, name: 'search', strict: true }] };
    const { body, names } = read({ tools: [exec, namespace] });
    expect(body.tools).toEqual([
      chatTool,
      { type: 'function', function: { ...chatTool.function, name: 'mcp__docs__search', strict: true } },
    ]);
    expect(names.named('mcp__docs__search')).toEqual({ kind: 'function', name: 'search', namespace: 'mcp__docs' });
  });

  it('that take free text take it as one argument, and the model is told their grammar', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' };
    const { body, names } = read({ tools: [{ type: 'custom', name: 'apply_patch', description: 'Patches', format }] });
    expect(body.tools?.[0]?.function).toMatchObject({
      name: 'apply_patch',
      description: 'Patches\n\nThe input must follow this lark grammar:\n\nstart: "x"',
      parameters: { required: ['input'], additionalProperties: false },
    });
    expect(names.named('apply_patch').kind).toBe('custom');
  });

  it('that OpenAI runs are left out, with a note', () => {
    const hosted = [{ type: 'web_search' }, { type: 'tool_search', execution: 'client' }, { type: 'web_search' }];
    const { body, notes } = read({ tools: [...hosted, exec], parallel_tool_calls: true });
    expect(body.tools).toEqual([chatTool]);
    expect(notes).toEqual(['Left out tools that only OpenAI can run: web_search, tool_search.']);
    // Without any tool, the model would make the results up.
    expect(() => read({ tools: hosted, tool_choice: 'auto' })).toThrow(
      /Only OpenAI can run `web_search`.*offer your own/,
    );
  });

  it.each([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [
      { type: 'function', name: 'exec' },
      { type: 'function', function: { name: 'exec' } },
    ],
  ])('are chosen by %j', (tool_choice, chosen) => {
    expect(chat({ tools: [exec], tool_choice, parallel_tool_calls: false })).toMatchObject({
      tool_choice: chosen,
      parallel_tool_calls: false,
    });
  });

  it('may be limited to those that are allowed now', () => {
    const other = { ...exec, name: 'other' };
    const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'exec' }] };
    expect(chat({ tools: [exec, other], tool_choice })).toMatchObject({ tools: [chatTool], tool_choice: 'required' });
    const shell = { type: 'local_shell' };
    const limited = { type: 'allowed_tools', mode: 'auto', tools: [shell] };
    expect(chat({ tools: [exec, shell], tool_choice: limited })).toMatchObject({
      tools: [{ function: { name: 'local_shell' } }],
      tool_choice: 'auto',
    });
  });

  it('of OpenAI cannot be forced', () => {
    for (const tools of [[exec], [{ type: 'web_search_preview' }]]) {
      expect(() => read({ tools, tool_choice: { type: 'web_search_preview' } })).toThrow(
        expect.objectContaining({ param: 'tool_choice' }),
      );
    }
  });
});
