import { describe, expect, it } from 'vitest';
import { mapTexts } from './map-texts.ts';

const hide = (text: string): string => text.replaceAll('Ann', 'NAME_1');

/** The arguments of a call, as they are sent. */
function sent(args: string): unknown {
  const calls = [{ id: 'c', type: 'function', function: { name: 'save', arguments: args } }];
  const request = { messages: [{ role: 'assistant', tool_calls: calls }] };
  const mapped = mapTexts(request, hide) as typeof request;
  return mapped.messages[0]?.tool_calls[0]?.function.arguments;
}

describe('the arguments of a tool call', () => {
  // A model may write a value as the name of a member. The restored call comes back with the next turn.
  it('have no found value in a name, at any depth', () => {
    expect(sent('{"Ann":"Ann","list":[{"for Ann":1}]}')).toBe('{"NAME_1":"NAME_1","list":[{"for NAME_1":1}]}');
  });

  it('keep both members if their names become equal, in their order', () => {
    expect(sent('{"NAME_1":1,"Ann":2,"NAME_1_":3}')).toBe('{"NAME_1":1,"NAME_1_":2,"NAME_1__":3}');
    expect(sent('{"Ann":1,"NAME_1":2}')).toBe('{"NAME_1":1,"NAME_1_":2}');
  });

  it('stay as they were written if nothing is found', () => {
    const written = '{ "a" : 1.50, "2": [ "b" ], "1": null }';
    expect(sent(written)).toBe(written);
  });
});
