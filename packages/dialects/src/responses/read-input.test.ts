import { chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { sealReasoning } from '../reasoning-envelope.ts';
import { readInput } from './read-input.ts';

/** The messages, as the service parses them. */
function read(input: readonly object[]): unknown[] {
  const { messages } = readInput({ input });
  if (messages.length > 0) chatRequestSchema.parse({ model: 'm', messages });
  return messages;
}

const said = (text: string): object => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const call = (call_id: string, more: object = {}): object => ({
  type: 'function_call',
  call_id,
  name: 'exec',
  arguments: '{}',
  ...more,
});
const output = (call_id: string, result: unknown): object => ({
  type: 'function_call_output',
  call_id,
  output: result,
});
const chatCall = (id: string, name = 'exec', text = '{}'): object => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

describe('the items of an input', () => {
  it('become messages: texts and images, of the user and of the system', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' };
    expect(
      read([
        { role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
        { type: 'message', role: 'user', content: 'plain' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'look' }, image] },
        { type: 'message', role: 'user', content: [] },
      ]),
    ).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'plain' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' } },
        ],
      },
    ]);
  });

  it('of one turn of the model become one message, so that results follow all their calls', () => {
    const detail = { type: 'reasoning.text' as const, text: 'hm', signature: 's', format: 'anthropic-claude-v1' };
    const reasoning = {
      type: 'reasoning',
      summary: [],
      encrypted_content: sealReasoning({ text: 'hm', details: [detail] }),
    };
    expect(
      read([reasoning, said('On it.'), call('a'), reasoning, call('b'), output('a', 'A'), output('b', 'B')]),
    ).toEqual([
      {
        role: 'assistant',
        content: 'On it.',
        reasoning: 'hmhm',
        reasoning_details: [detail, detail],
        tool_calls: [chatCall('a'), chatCall('b')],
      },
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
    ]);
  });

  it('keep two texts of one turn apart', () => {
    expect(read([said('a'), said('b')])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ]);
  });

  it('drop reasoning that another service encrypted, and a turn that says nothing', () => {
    const theirs = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }], encrypted_content: 'gAAAAABo' };
    const ours = { type: 'reasoning', summary: [], encrypted_content: sealReasoning({ text: 'hm', details: [] }) };
    expect(read([theirs, said('Hi.')])).toEqual([{ role: 'assistant', content: 'Hi.' }]);
    expect(read([ours, { role: 'user', content: 'next' }])).toEqual([{ role: 'user', content: 'next' }]);
  });

  it('keep results of any form: text, parts with images, other JSON', () => {
    const parts = [
      { type: 'input_text', text: 'seen' },
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'original' },
    ];
    expect(read([call('a'), output('a', parts), output('a', { ok: true }), output('a', '')]).slice(1)).toEqual([
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [
          { type: 'text', text: 'seen' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: '{"ok":true}' },
      { role: 'tool', tool_call_id: 'a', content: '' },
    ]);
  });

  it('keep calls of custom tools, of namespaces and of the local shell', () => {
    const action = { type: 'exec', command: ['ls'] };
    expect(
      read([
        { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** "x"' },
        call('b', { namespace: 'mcp__docs', name: 'search' }),
        { type: 'local_shell_call', call_id: 'c', action, status: 'completed' },
        { type: 'custom_tool_call_output', call_id: 'a', output: 'Done' },
        { type: 'local_shell_call_output', id: 'c', output: 'files' },
      ]),
    ).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          chatCall('a', 'apply_patch', '{"input":"*** \\"x\\""}'),
          chatCall('b', 'mcp__docs__search'),
          chatCall('c', 'local_shell', JSON.stringify(action)),
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'Done' },
      { role: 'tool', tool_call_id: 'c', content: 'files' },
    ]);
  });

  it('pass on what another agent says', () => {
    const content = [
      { type: 'input_text', text: 'Done.' },
      { type: 'encrypted_content', encrypted_content: 'x' },
    ];
    expect(read([{ type: 'agent_message', author: 'a', content }])).toEqual([{ role: 'user', content: 'Done.' }]);
  });

  it('leave out traces of OpenAI’s own tools, and say so', () => {
    const input = [{ type: 'web_search_call', status: 'completed' }, said('Hi.')];
    const { messages, dropped } = readInput({ input });
    expect(messages).toEqual([{ role: 'assistant', content: 'Hi.' }]);
    expect(dropped).toEqual(['web_search_call']);
  });
});
