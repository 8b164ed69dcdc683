import { chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { answer, deltasOf, frames, models, payloads, type SaidMessage } from '../testing/answers.ts';
import { eventsIn, runStream } from '../testing/run-stream.ts';
import { KeptAnswers } from './kept-answers.ts';
import { translateResponses } from './translate.ts';

const ask = (input: unknown, tools: readonly object[], more: object = {}) =>
  translateResponses({ model: 'acme/small', input, tools, ...more }, models, {
    isCodex: false,
    kept: new KeptAnswers(),
  });
const calling = (name: string, args: object): SaidMessage => ({
  content: null,
  tool_calls: [{ id: 'call_0', function: { name, arguments: JSON.stringify(args) } }],
});

describe.each([
  ['apply_patch', { type: 'update_file', path: 'a', diff: '@@\n-x\n+y' }, 'operation', {}],
  ['apply_patch', { type: 'delete_file', path: 'a' }, 'operation', {}],
  ['shell', { commands: ['ls'] }, 'action', { timeout_ms: null, max_output_length: null }],
  ['local_shell', { command: ['ls', '-l'] }, 'action', { type: 'exec', env: {} }],
] as const)('the built-in tool %s with %j', (type, args, field, added) => {
  const item = {
    ...{ type: `${type}_call`, call_id: 'call_0', status: 'completed', id: expect.any(String) },
    [field]: { ...added, ...args },
  };

  it('is offered as a function, and its call is written as an item of its own', () => {
    const asked = ask('hi', [{ type }], { tool_choice: { type } });
    chatRequestSchema.parse(asked.body);
    expect(asked.body.tools?.map((tool) => tool.function.name)).toEqual([type]);
    expect(asked.body.tool_choice).toEqual({ type: 'function', function: { name: type } });
    expect(asked.whole(answer(calling(type, args)))).toMatchObject({ output: [item] });
    const bytes = Buffer.from(frames(payloads(deltasOf(calling(type, args)), 'tool_calls')));
    const events = eventsIn(runStream(ask('hi', [{ type }], { stream: true }).stream(), [bytes]));
    expect(events.filter(({ item: written }) => written !== undefined)).toMatchObject([
      { type: 'response.output_item.added', item },
      { type: 'response.output_item.done', item },
    ]);
  });

  it('returns to the model with its result', () => {
    const input = [
      { type: 'message', role: 'user', content: 'hi' },
      { ...item, id: 'x' },
      { type: `${type}_call_output`, call_id: 'call_0', status: 'failed', output: 'No such file.' },
    ];
    const { messages } = ask(input, [{ type }]).body;
    expect(messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'call_0', function: { name: type } }] },
      { role: 'tool', tool_call_id: 'call_0', content: 'Error: No such file.' },
    ]);
    const [call] = (messages[1] as SaidMessage).tool_calls ?? [];
    expect(JSON.parse(call?.function.arguments ?? '')).toMatchObject(args);
  });
});

it('a shell in a container of OpenAI is none that the caller runs', () => {
  const shell = { type: 'shell', environment: { type: 'container_auto' } };
  expect(() => ask('hi', [shell])).toThrow(/Only OpenAI can run `shell`/);
});
