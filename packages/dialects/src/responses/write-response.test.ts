import { describe, expect, it } from 'vitest';
import { answer } from '../testing/answers.ts';
import { ToolNames } from '../tool-names.ts';
import { writeResponse } from './write-response.ts';

const names = new ToolNames();
names.add({ kind: 'custom', name: 'apply_patch', namespace: undefined });
names.add({ kind: 'local_shell', name: 'local_shell', namespace: undefined });
names.add({ kind: 'function', name: 'search', namespace: 'mcp__docs' });

const write = (message: Parameters<typeof answer>[0], finish?: string, asked: object = {}) =>
  writeResponse(answer(message, finish), { ...asked }, names) as { readonly output: readonly object[] };

describe('a response', () => {
  it('has every field that OpenAI’s types require, and repeats the settings of the request', () => {
    const asked = {
      instructions: 'Be brief.',
      tools: [{ type: 'function', name: 'f' }],
      tool_choice: 'required',
      metadata: { a: '1' },
      reasoning: { effort: 'low' },
      temperature: 0.5,
      parallel_tool_calls: false,
    };
    expect(write({ content: 'Hi.' }, 'stop', asked)).toEqual({
      id: 'resp_a1',
      object: 'response',
      access_programs: null,
      created_at: 1_750_000_000,
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      max_output_tokens: null,
      model: 'acme/small',
      output: [
        {
          id: 'msg_a1_0',
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hi.', annotations: [], logprobs: [] }],
        },
      ],
      previous_response_id: null,
      store: false,
      text: { format: { type: 'text' } },
      top_p: null,
      truncation: 'disabled',
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 7 },
        total_tokens: 120,
      },
      ...asked,
      reasoning: { effort: 'low', summary: null },
    });
  });

  it('has calls as the tools that were offered', () => {
    const call = (id: string, name: string, text: string) => ({ id, function: { name, arguments: text } });
    const tool_calls = [
      call('a', 'exec', '{"x":1}'),
      call('b', 'apply_patch', '{"input":"*** x"}'),
      call('c', 'mcp__docs__search', ''),
    ];
    expect(write({ content: null, tool_calls }, 'tool_calls').output).toEqual([
      { id: 'fc_a1_0', type: 'function_call', status: 'completed', call_id: 'a', name: 'exec', arguments: '{"x":1}' },
      {
        id: 'ctc_a1_1',
        type: 'custom_tool_call',
        status: 'completed',
        call_id: 'b',
        name: 'apply_patch',
        input: '*** x',
      },
      {
        id: 'fc_a1_2',
        type: 'function_call',
        status: 'completed',
        call_id: 'c',
        name: 'search',
        namespace: 'mcp__docs',
        arguments: '{}',
      },
    ]);
  });

  it('marks a call that was cut off as incomplete, and leaves out that of a built-in tool', () => {
    const write = (finish: string, name: string, text: string) =>
      writeResponse(
        answer({ content: 'x', tool_calls: [{ id: 'a', function: { name, arguments: text } }] }, finish),
        {},
        names,
      ).output[1];
    for (const finish of ['length', 'content_filter']) {
      expect(write(finish, 'exec', '{"a":')).toMatchObject({ status: 'incomplete', arguments: '{"a":' });
      expect(write(finish, 'exec', '')).toMatchObject({ status: 'incomplete', arguments: '' });
      expect(write(finish, 'exec', '{}')).toMatchObject({ status: 'completed', arguments: '{}' });
      expect(write(finish, 'apply_patch', '{"input":"*** x')).toMatchObject({ status: 'incomplete', input: '*** x' });
      expect(write(finish, 'local_shell', '{"command":["rm"')).toBeUndefined();
    }
  });

  it('has the trace as a summary, and everything that its provider needs as an opaque string', () => {
    const detail = { type: 'reasoning.encrypted' as const, data: 'opaque' };
    expect(write({ content: 'x', refusal: 'no', reasoning: 'hm', reasoning_details: [detail] }).output).toMatchObject([
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: expect.stringMatching(/^sotto\.1\./),
      },
      { type: 'reasoning', summary: [], encrypted_content: expect.stringMatching(/^sotto\.1\./) },
      { type: 'message', content: [{ type: 'output_text', text: 'x' }] },
      { type: 'message', content: [{ type: 'refusal', refusal: 'no' }] },
    ]);
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('that ended with %s is incomplete', (finish, reason) => {
    expect(write({ content: 'x' }, finish)).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
  });
});
