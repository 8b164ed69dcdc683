import { describe, expect, it } from 'vitest';
import { chat } from '../testing/fixtures.ts';
import { type Conversation, readConversation } from './conversation.ts';

const read = (messages: readonly object[], formats = ['anthropic-claude-v1']): Conversation => {
  const conversation = readConversation(chat({ messages }).messages, formats);
  if ('unsupported' in conversation) throw new Error(conversation.unsupported);
  return conversation;
};
const refused = (messages: readonly object[]) => {
  const conversation = readConversation(chat({ messages }).messages, []);
  if (!('unsupported' in conversation)) throw new Error('it was read');
  return conversation;
};
const hi = { role: 'user', content: 'hi' };
const call = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'f', arguments: args } });

describe('a conversation of two sides', () => {
  it('has the system and developer messages at the start as its system prompt', () => {
    const { system, turns } = read([
      { role: 'system', content: 'a' },
      { role: 'user', content: ' ' },
      { role: 'developer', content: [{ type: 'text', text: 'b', cache_control: { type: 'ephemeral' } }] },
      hi,
    ]);
    expect(system).toEqual([
      { kind: 'text', text: 'a', cached: false },
      { kind: 'text', text: 'b', cached: true },
    ]);
    expect(turns).toHaveLength(1);
  });

  it('keeps later system messages at their place, so that the start of the next request stays the same', () => {
    const before = [
      { role: 'system', content: 'a' },
      hi,
      { role: 'assistant', content: null, tool_calls: [call('c1')] },
    ];
    const { turns: first } = read(before);
    const { system, turns } = read([
      ...before,
      { role: 'system', content: 'b' },
      { role: 'tool', tool_call_id: 'c1', content: 'r' },
      { role: 'assistant', content: 'ok' },
      { role: 'developer', content: 'c' },
    ]);
    expect(system).toEqual([{ kind: 'text', text: 'a', cached: false }]);
    expect(turns.slice(0, first.length)).toEqual(first);
    const shown = turns.slice(first.length).map(({ blocks }) => blocks.map((block) => 'text' in block && block.text));
    const reminded = (text: string) => `<system-reminder>\n${text}\n</system-reminder>`;
    expect(shown).toEqual([['r', reminded('b')], ['ok'], [reminded('c')]]);
  });

  it('has the results of several calls first, in the order of the calls', () => {
    const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: `of ${id}` });
    const { turns } = read([
      hi,
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b'), call('c')] },
      result('c'),
      result('a'),
      { role: 'user', content: 'and now?' },
      result('b'),
    ]);
    const texts = turns.at(-1)?.blocks.map((block) => ('text' in block ? block.text : block.kind));
    expect(texts).toEqual(['of a', 'of b', 'of c', 'and now?']);
  });

  it('has images of results after all results', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const { turns } = read([
      hi,
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'seen' }, image] },
      { role: 'tool', tool_call_id: 'b', content: [image] },
    ]);
    expect(turns.at(-1)?.blocks).toMatchObject([
      { kind: 'tool_result', callId: 'a', text: 'seen' },
      { kind: 'tool_result', callId: 'b', text: '' },
      { kind: 'image', param: 'messages.2.content.1.image_url.url' },
      { kind: 'image', param: 'messages.3.content.0.image_url.url' },
    ]);
  });

  it('may have more parts than a call may have arguments', () => {
    const parts = Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'x' }));
    const { system, turns } = read([{ role: 'system', content: parts }, hi, { role: 'user', content: parts }]);
    expect([system.length, turns[0]?.blocks.length]).toEqual([200_000, 200_001]);
  });

  it('merges consecutive messages of one side, with tool results on the user’s side', () => {
    const { turns } = read([
      hi,
      { role: 'assistant', content: 'one' },
      { role: 'assistant', content: null, tool_calls: [call('c1', '{"x":1}'), call('c2', '')] },
      {
        role: 'tool',
        tool_call_id: 'c1',
        content: [
          { type: 'text', text: 'r' },
          { type: 'text', text: '1' },
        ],
      },
      { role: 'tool', tool_call_id: 'c2', content: '' },
      { role: 'user', content: 'so?' },
    ]);
    expect(turns.map(({ role, blocks }) => [role, blocks.map(({ kind }) => kind)])).toEqual([
      ['user', ['text']],
      ['assistant', ['text', 'tool_call', 'tool_call']],
      ['user', ['tool_result', 'tool_result', 'text']],
    ]);
    expect(turns[1]?.blocks[1]).toEqual({ kind: 'tool_call', id: 'c1', name: 'f', input: { x: 1 } });
    expect(turns[1]?.blocks[2]).toMatchObject({ input: {} });
    expect(turns[2]?.blocks[0]).toMatchObject({ callId: 'c1', name: 'f', text: 'r\n1' });
  });

  it('drops blank texts and empty turns', () => {
    const { turns } = read([
      {
        role: 'user',
        content: [
          { type: 'text', text: ' \n' },
          { type: 'text', text: 'x' },
        ],
      },
      { role: 'assistant', content: '' },
    ]);
    expect(turns).toEqual([{ role: 'user', blocks: [{ kind: 'text', text: 'x', cached: false }] }]);
    expect(
      refused([
        { role: 'system', content: 'only' },
        { role: 'user', content: ' ' },
      ]),
    ).toMatchObject({ param: 'messages' });
  });

  it('has a refusal of an earlier answer as its text', () => {
    const { turns } = read([
      hi,
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] },
      hi,
      { role: 'assistant', content: null, refusal: 'never' },
      hi,
    ]);
    expect(turns.filter(({ role }) => role === 'assistant').map(({ blocks }) => blocks)).toEqual([
      [{ kind: 'text', text: 'no', cached: false }],
      [{ kind: 'text', text: 'never', cached: false }],
    ]);
  });

  it('has the joined reasoning in the provider’s own format, and no other', () => {
    const text = (text: string, more: object = {}) => ({
      type: 'reasoning.text',
      text,
      format: 'anthropic-claude-v1',
      ...more,
    });
    const { turns } = read([
      hi,
      {
        role: 'assistant',
        content: 'x',
        reasoning: 'ab',
        reasoning_details: [
          text('a', { index: 0 }),
          text('b', { index: 0 }),
          { type: 'reasoning.text', signature: 's', format: 'anthropic-claude-v1', index: 0 },
          text('c', { index: 1, signature: 't' }),
          { type: 'reasoning.encrypted', data: 'd', format: 'google-gemini-v1' },
        ],
      },
    ]);
    expect(turns[1]?.blocks).toEqual([
      {
        kind: 'reasoning',
        detail: { type: 'reasoning.text', text: 'ab', signature: 's', format: 'anthropic-claude-v1', index: 0 },
      },
      {
        kind: 'reasoning',
        detail: { type: 'reasoning.text', text: 'c', signature: 't', format: 'anthropic-claude-v1', index: 1 },
      },
      { kind: 'text', text: 'x', cached: false },
    ]);
  });

  it('drops a thought without its signature, and a turn that has nothing else', () => {
    const thought = { type: 'reasoning.text', text: 'hm', format: 'anthropic-claude-v1', index: 0 };
    const { turns } = read([hi, { role: 'assistant', content: '', reasoning_details: [thought] }, hi]);
    expect(turns.map(({ role, blocks }) => [role, blocks.length])).toEqual([['user', 2]]);
  });

  it('drops signed and encrypted thoughts that nothing follows, and merges the turns around them', () => {
    const thoughts = (content: string) => ({
      role: 'assistant',
      content,
      reasoning_details: [
        { type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0 },
        { type: 'reasoning.encrypted', data: 'd', format: 'anthropic-claude-v1', index: 1 },
      ],
    });
    const kinds = (messages: readonly object[]) =>
      read(messages).turns.map(({ role, blocks }) => [role, blocks.map(({ kind }) => kind)]);
    expect(kinds([hi, thoughts(''), hi])).toEqual([['user', ['text', 'text']]]);
    expect(kinds([hi, thoughts('')])).toEqual([['user', ['text']]]);
    // Some clients keep each step of one answer as a message.
    const calls = { role: 'assistant', content: null, tool_calls: [call('c')] };
    expect(kinds([hi, thoughts(''), calls, thoughts('')])).toEqual([
      ['user', ['text']],
      ['assistant', ['reasoning', 'reasoning', 'tool_call']],
    ]);
    expect(refused([thoughts('')])).toMatchObject({ param: 'messages' });
    const result = { role: 'tool', tool_call_id: 'c', content: 'r' };
    expect(kinds([hi, calls, hi, thoughts(''), result])).toEqual([
      ['user', ['text']],
      ['assistant', ['tool_call']],
      ['user', ['tool_result', 'text']],
    ]);
  });

  it.each([
    [
      'arguments that are no object',
      [hi, { role: 'assistant', tool_calls: [call('c', '[1]')] }],
      'messages.1.tool_calls.0.function.arguments',
    ],
    [
      'arguments that are no JSON',
      [hi, { role: 'assistant', tool_calls: [call('c', '{"x"')] }],
      'messages.1.tool_calls.0.function.arguments',
    ],
    [
      'arguments that nest too deep',
      [hi, { role: 'assistant', tool_calls: [call('c', `{"x":${'['.repeat(64)}${']'.repeat(64)}}`)] }],
      'messages.1.tool_calls.0.function.arguments',
    ],
    ['a result of no call', [hi, { role: 'tool', tool_call_id: 'CANARY', content: 'x' }], 'messages.1.tool_call_id'],
  ])('refuses %s, names the path, and quotes no content', (_, messages, param) => {
    const { unsupported, param: at } = refused(messages);
    expect(at).toBe(param);
    expect(unsupported).toContain(`\`${param}\``);
    expect(unsupported).not.toMatch(/CANARY|\[1\]|"x"/);
  });
});
