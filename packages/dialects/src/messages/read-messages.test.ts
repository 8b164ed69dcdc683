import { chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { sealReasoning, sealSignature } from '../reasoning-envelope.ts';
import { readMessages } from './read-messages.ts';

const mark = { cache_control: { type: 'ephemeral' } };

/** The messages, as the service parses them. */
function read(turns: readonly object[], system?: unknown): unknown[] {
  const messages = readMessages({ messages: turns, system });
  if (messages.length > 0) chatRequestSchema.parse({ model: 'm', messages });
  return messages;
}

const call = (id: string, input: object = {}): object => ({ type: 'tool_use', id, name: 'bash', input });
const chatCall = (id: string, text = '{}'): object => ({
  id,
  type: 'function',
  function: { name: 'bash', arguments: text },
});
const text = (said: string, more: object = {}): object => ({ type: 'text', text: said, ...more });

describe('a system prompt', () => {
  it('may be a string, or blocks with cache marks', () => {
    expect(read([], 'Be brief.')).toEqual([{ role: 'system', content: 'Be brief.' }]);
    expect(read([], [text('a'), text('b', mark)])).toEqual([{ role: 'system', content: [text('a'), text('b', mark)] }]);
    expect(read([], [text('')])).toEqual([]);
  });

  it('may stand between the turns', () => {
    expect(
      read([
        { role: 'user', content: 'hi' },
        { role: 'system', content: [text('now')] },
      ]),
    ).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'now' },
    ]);
  });

  it('that is for one turn of the user alone is left out after it', () => {
    const once = { role: 'system', content: 'now', clear_at: 'next_user_message' };
    const user = { role: 'user', content: 'hi' };
    expect(read([user, once])).toEqual([user, { role: 'system', content: 'now' }]);
    expect(read([user, once, user])).toEqual([user, user]);
  });

  it.each([
    'x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=sdk-cli; cch=36ee5;',
    'x-anthropic-billing-header: cc_version=2.1.328.593; cc_entrypoint=cli;\n',
  ])('loses the attribution of Claude Code, which would break caching: %j', (attribution) => {
    expect(read([], [text(attribution), text('You are.', mark)])).toEqual([
      { role: 'system', content: [text('You are.', mark)] },
    ]);
    expect(read([], `${attribution.trimEnd()}\nYou are.`)).toEqual([{ role: 'system', content: 'You are.' }]);
  });

  it('keeps a text that only speaks of the attribution', () => {
    const about = 'Explain x-anthropic-billing-header: what is it?';
    expect(read([], [text('a'), text(`x-anthropic-billing-header: b`)])).toEqual([
      { role: 'system', content: [text('a'), text('x-anthropic-billing-header: b')] },
    ]);
    expect(read([], about)).toEqual([{ role: 'system', content: about }]);
  });
});

describe('a turn of the user', () => {
  it('keeps texts and images, from data and from an address', () => {
    const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }, ...mark };
    const linked = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    expect(read([{ role: 'user', content: [text('look'), png, linked] }])).toEqual([
      {
        role: 'user',
        content: [
          text('look'),
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' }, ...mark },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
    ]);
  });

  it('refuses an image that the service would have kept', () => {
    expect(() =>
      read([{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }]),
    ).toThrow(expect.objectContaining({ param: 'messages.0.content.0.source' }));
  });

  it('keeps a document of text, and tells the model of one that cannot be passed on', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'The text.' };
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBE' };
    const content = [
      { type: 'document', title: 'Notes', source },
      { type: 'document', source: pdf },
    ];
    const [message] = read([{ role: 'user', content }]) as [{ content: { text: string }[] }];
    expect(message.content[0]?.text).toBe('Notes\n\nThe text.');
    expect(message.content[1]?.text).toBe(
      '[A document (application/pdf) was attached. This service cannot pass it on.]',
    );
  });

  it('gives each tool result a message, before anything else of the turn', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
    const content = [
      text('first'),
      { type: 'tool_result', tool_use_id: 'a', content: 'plain' },
      { type: 'tool_result', tool_use_id: 'b', content: [text('seen'), image], ...mark },
      { type: 'tool_result', tool_use_id: 'c' },
    ];
    expect(
      read([
        { role: 'assistant', content: [call('a'), call('b'), call('c')] },
        { role: 'user', content },
      ]).slice(1),
    ).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'plain' },
      {
        role: 'tool',
        tool_call_id: 'b',
        content: [
          text('seen'),
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' }, ...mark },
        ],
      },
      { role: 'tool', tool_call_id: 'c', content: '' },
      { role: 'user', content: 'first' },
    ]);
  });

  it('marks the last part of a result that ends a cached prefix', () => {
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'plain', ...mark };
    expect(read([{ role: 'user', content: [result] }])).toEqual([
      { role: 'tool', tool_call_id: 'a', content: [text('plain', mark)] },
    ]);
  });

  it.each([
    ['no such file', 'Error: no such file'],
    ['Error: no such file', 'Error: no such file'],
    ['<tool_use_error>no</tool_use_error>', '<tool_use_error>no</tool_use_error>'],
    ['', 'Error: '],
  ])('tells the model that a call failed: %j', (said, told) => {
    const failed = { type: 'tool_result', tool_use_id: 'a', is_error: true, content: [text(said)] };
    expect(read([{ role: 'user', content: [failed] }])).toEqual([{ role: 'tool', tool_call_id: 'a', content: told }]);
  });

  it('names the tools that a search found', () => {
    const found = {
      type: 'tool_result',
      tool_use_id: 'a',
      content: [{ type: 'tool_reference', tool_name: 'WebFetch' }],
    };
    expect(read([{ role: 'user', content: [found] }])).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'WebFetch' },
    ]);
  });
});

describe('a turn of the model', () => {
  const read1 = (content: unknown): unknown => read([{ role: 'assistant', content }])[0];

  it('keeps text and parallel calls', () => {
    expect(read1([text('On it.'), call('a', { x: [1] }), call('b')])).toEqual({
      role: 'assistant',
      content: 'On it.',
      tool_calls: [chatCall('a', '{"x":[1]}'), chatCall('b')],
    });
    expect(read1('Hi.')).toEqual({ role: 'assistant', content: 'Hi.' });
    expect(read1([call('a')])).toEqual({ role: 'assistant', content: null, tool_calls: [chatCall('a')] });
  });

  it('returns a signed thought to the provider that signed it', () => {
    const detail = { type: 'reasoning.text' as const, text: 'hm', signature: 's', format: 'anthropic-claude-v1' };
    const sealed = { type: 'reasoning.encrypted' as const, data: 'opaque', format: 'google-gemini-v1' };
    expect(
      read1([
        { type: 'thinking', thinking: 'hm', signature: sealSignature(detail) },
        { type: 'redacted_thinking', data: sealReasoning({ text: '', details: [sealed] }) },
        text('Hi.'),
      ]),
    ).toEqual({ role: 'assistant', content: 'Hi.', reasoning: 'hm', reasoning_details: [detail, sealed] });
  });

  it('drops thoughts that another service signed, or nobody', () => {
    expect(
      read1([
        { type: 'thinking', thinking: 'theirs', signature: 'EqQBCgIYAhIM' },
        { type: 'thinking', thinking: 'unsigned', signature: '' },
        { type: 'redacted_thinking', data: 'EmwKAhgB' },
        text('Hi.'),
      ]),
    ).toEqual({ role: 'assistant', content: 'Hi.' });
  });

  it('drops traces of tools that the vendor ran, and a turn that says nothing', () => {
    const trace = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    ];
    expect(read1([...trace, text('Found.')])).toEqual({ role: 'assistant', content: 'Found.' });
    for (const content of [trace, '', [text('')]]) expect(read([{ role: 'assistant', content }])).toEqual([]);
  });
});
