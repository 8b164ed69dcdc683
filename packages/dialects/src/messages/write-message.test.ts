import { describe, expect, it } from 'vitest';
import { answer } from '../testing/answers.ts';
import { ToolNames } from '../tool-names.ts';
import { readMessagesRequest } from './read-request.ts';
import { writeMessage } from './write-message.ts';

const write = (...args: Parameters<typeof answer>) =>
  writeMessage(answer(...args), new ToolNames()) as {
    readonly content: readonly object[];
    readonly stop_reason: string;
  };

describe('a message', () => {
  it('has every field that Anthropic’s types require', () => {
    expect(write({ content: 'Hi.' })).toEqual({
      id: 'msg_a1',
      type: 'message',
      role: 'assistant',
      model: 'acme/small',
      content: [{ type: 'text', text: 'Hi.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 30,
        cache_read_input_tokens: 60,
        output_tokens: 20,
        output_tokens_details: { thinking_tokens: 7 },
      },
    });
  });

  it('has the input of a call as JSON', () => {
    const tool_calls = [
      { id: 'a', function: { name: 'bash', arguments: '{"x":1}' } },
      { id: 'b', function: { name: 'bash', arguments: '' } },
    ];
    expect(write({ content: null, tool_calls }, 'tool_calls')).toMatchObject({
      content: [
        { type: 'tool_use', id: 'a', name: 'bash', input: { x: 1 } },
        { type: 'tool_use', id: 'b', name: 'bash', input: {} },
      ],
      stop_reason: 'tool_use',
    });
  });

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
  ])('that ended with %s stops for %s', (finish, reason) => {
    expect(write({ content: 'x' }, finish).stop_reason).toBe(reason);
  });

  it('with a call stops for it, even if the provider says `stop`', () => {
    const tool_calls = [{ id: 'a', function: { name: 'bash', arguments: '{}' } }];
    expect(write({ content: null, tool_calls }, 'stop').stop_reason).toBe('tool_use');
  });

  it('shows a thought that it can, and hides one that only its provider can read', () => {
    const sealed = { type: 'reasoning.encrypted' as const, data: 'opaque' };
    expect(write({ content: 'x', reasoning: 'hm', reasoning_details: [sealed] }).content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: expect.stringMatching(/^sotto\.1\./) },
      { type: 'redacted_thinking', data: expect.stringMatching(/^sotto\.1\./) },
      { type: 'text', text: 'x' },
    ]);
  });

  const long = 'x'.repeat(70);
  const { names, body } = readMessagesRequest(
    { model: 'm', messages: [], tools: [{ name: long, input_schema: {} }] },
    { resolve: (name) => name, find: () => undefined },
  );
  const callOf = (args: string, finish: string) => {
    const name = body.tools?.[0]?.function.name ?? '';
    return answer({ content: 'a', tool_calls: [{ id: 'c', function: { name, arguments: args } }] }, finish);
  };

  it('names a tool as the caller did, whatever the provider was told', () => {
    expect(body.tools?.[0]?.function.name).toHaveLength(64);
    expect(writeMessage(callOf('{}', 'tool_calls'), names)).toMatchObject({ content: [{}, { name: long, input: {} }] });
  });

  it('never has an empty input for arguments that cannot be read', () => {
    expect(() => writeMessage(callOf('{"a":', 'tool_calls'), names)).toThrow(/no JSON object/);
    // A call that was cut off is no call.
    for (const args of ['{"a":', '']) {
      const content = [{ type: 'text', text: 'a' }];
      expect(writeMessage(callOf(args, 'length'), names)).toMatchObject({ content, stop_reason: 'max_tokens' });
      expect(writeMessage(callOf(args, 'content_filter'), names)).toMatchObject({ content, stop_reason: 'refusal' });
    }
  });
});
