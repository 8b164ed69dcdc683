import { describe, expect, it } from 'vitest';
import { turnsOf } from './turns.ts';

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more });
const call = (name: string, args: string, id = 'call_1') => ({
  tool_calls: [{ id, function: { name, arguments: args } }],
});
const turns = (messages: readonly object[], more: object = {}) => turnsOf({ model: 'acme/coder', messages, ...more });
const isSame = (one: readonly object[], other: readonly object[]): boolean =>
  JSON.stringify(turns(one)) === JSON.stringify(turns(other));

describe('the turns of a conversation', () => {
  it('are those of the user and the assistant, each with all before it', () => {
    const first = turns([user('Hello'), assistant('Hi'), user('Bye')]);
    expect(first.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(turns([user('Hello'), assistant('Hi')])).toEqual(first.slice(0, 2));
    // The same last turn after another one is another turn.
    expect(
      turns([user('Hallo'), assistant('Hi'), user('Bye')]).some((turn, at) => turn.digest === first[at]?.digest),
    ).toBe(false);
  });

  it.each<[string, readonly object[], readonly object[]]>([
    ['system messages', [{ role: 'system', content: 'Today is Monday.' }, user('a')], [user('a')]],
    [
      'marks of caches, and whether a text is one part',
      [user([{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }])],
      [user('a')],
    ],
    [
      'reminders, whole or within a text',
      [
        user([
          { type: 'text', text: '<system-reminder>\nThree files changed.\n</system-reminder>' },
          { type: 'text', text: 'a' },
        ]),
      ],
      [user('a\n<environment_details>12:01\n2 files</environment_details>')],
    ],
    ['a turn of nothing but a reminder', [user('a'), user('<system-reminder>b</system-reminder>')], [user('a')]],
    ['results of tools', [user('a'), { role: 'tool', tool_call_id: 'call_1', content: '1 MB' }], [user('a')]],
    ['reasoning', [assistant('a', { reasoning: 'It is a.', reasoning_details: [{}] })], [assistant('a')]],
    [
      'ids of calls, and spaces in their arguments',
      [assistant(null, call('read', '{"path":"a"}', 'call_1'))],
      [assistant('', call('read', '{ "path": "a" }', 'call_2'))],
    ],
  ])('do not change with %s', (_, one, other) => {
    expect(isSame(one, other)).toBe(true);
  });

  it.each<[string, readonly object[], readonly object[]]>([
    ['the text', [user('a')], [user('b')]],
    ['the role', [user('a')], [assistant('a')]],
    [
      'an image',
      [user([{ type: 'image_url', image_url: { url: 'data:1' } }])],
      [user([{ type: 'image_url', image_url: { url: 'data:2' } }])],
    ],
    ['a call', [assistant(null, call('read', '{"path":"a"}'))], [assistant(null, call('read', '{"path":"b"}'))]],
    ['a text that only names a reminder', [user('What is a <system-reminder>?')], [user('What is a')]],
  ])('change with %s', (_, one, other) => {
    expect(isSame(one, other)).toBe(false);
  });

  it('are others for another model, or without the tools: no cache serves both', () => {
    const messages = [user('a')];
    const tools = [{ type: 'function', function: { name: 'read' } }];
    const digests = [{}, { model: 'acme/small' }, { tools }].map((more) => turns(messages, more)[0]?.digest);
    expect(new Set(digests).size).toBe(3);
    // An agent adds tools in the middle of a conversation.
    expect(turns(messages, { tools })).toEqual(turns(messages, { tools: [...tools, ...tools] }));
  });

  it('of anything else are none', () => {
    expect(turnsOf({})).toEqual([]);
    expect(turnsOf({ messages: [null, 'a', { role: 7 }, { role: 'user' }, user([])] })).toEqual([]);
  });
});
