import { describe, expect, it } from 'vitest';
import { readToolCalls } from './content.ts';
import { ToolCallIds } from './tool-call-ids.ts';

interface Sent {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly args?: string;
}

/** The calls of an answer put together as a client does, by their index. */
function assembled(...chunks: readonly (readonly Sent[])[]): string[] {
  const ids = new ToolCallIds('chatcmpl-x');
  const calls: { id: string; name: string; args: string }[] = [];
  for (const chunk of chunks) {
    const sent = chunk.map(({ index, id, name, args }) => ({ index, id, function: { name, arguments: args } }));
    for (const piece of ids.complete(readToolCalls(sent))) {
      calls[piece.index] ??= { id: '', name: '', args: '' };
      const call = calls[piece.index];
      if (call === undefined) continue;
      call.id ||= piece.id ?? '';
      call.name ||= piece.function.name ?? '';
      call.args += piece.function.arguments ?? '';
    }
  }
  return calls.map(({ id, name, args }) => `${id.startsWith('call_') ? 'ours' : id} ${name} ${args}`);
}

describe('tool calls of a stream', () => {
  const want = ['a f {"x":1}', 'b g {}'];

  it.each<[string, readonly (readonly Sent[])[]]>([
    [
      'with an index each',
      [
        [{ index: 0, id: 'a', name: 'f', args: '{"x"' }],
        [{ index: 0, args: ':1}' }],
        [{ index: 1, id: 'b', name: 'g', args: '{}' }],
      ],
    ],
    [
      'whose indexes begin at 1',
      [
        [{ index: 1, id: 'a', name: 'f', args: '{"x"' }],
        [{ index: 1, args: ':1}' }],
        [{ index: 2, id: 'b', name: 'g', args: '{}' }],
      ],
    ],
    [
      'whose indexes have gaps and no order',
      [
        [
          { index: 7, id: 'a', name: 'f', args: '{"x":1}' },
          { index: 3, id: 'b', name: 'g', args: '{}' },
        ],
      ],
    ],
    [
      'whose pieces alternate',
      [
        [
          { index: 0, id: 'a', name: 'f', args: '{"x"' },
          { index: 1, id: 'b', name: 'g' },
        ],
        [{ index: 1, args: '{}' }],
        [{ index: 0, args: ':1}' }],
      ],
    ],
    ['without an index, whole', [[{ id: 'a', name: 'f', args: '{"x":1}' }], [{ id: 'b', name: 'g', args: '{}' }]]],
    [
      'without an index, in one event',
      [
        [
          { id: 'a', name: 'f', args: '{"x":1}' },
          { id: 'b', name: 'g', args: '{}' },
        ],
      ],
    ],
    [
      'without an index, in pieces that name no call',
      [[{ id: 'a', name: 'f' }], [{ args: '{"x"' }], [{ args: ':1}' }], [{ id: 'b', name: 'g' }], [{ args: '{}' }]],
    ],
    [
      'without an index, in pieces that repeat the id',
      [[{ id: 'a', name: 'f' }], [{ id: 'a', args: '{"x":1}' }], [{ id: 'b', name: 'g' }], [{ id: 'b', args: '{}' }]],
    ],
    [
      'all with the same index',
      [
        [{ index: 0, id: 'a', name: 'f', args: '{"x"' }],
        [{ index: 0, args: ':1}' }],
        [{ index: 0, id: 'b', name: 'g', args: '{}' }],
      ],
    ],
    [
      'that repeat name and id in every piece',
      [
        [{ index: 0, id: 'a', name: 'f', args: '{"x"' }],
        [{ index: 0, id: 'a', name: 'f', args: ':1}' }],
        [{ index: 1, id: 'b', name: 'g', args: '{}' }],
      ],
    ],
  ])('%s are told apart', (_, chunks) => {
    expect(assembled(...chunks)).toEqual(want);
  });

  it('continue if later pieces have new ids but no name', () => {
    expect(assembled([{ index: 0, id: 'a', name: 'f', args: '{' }], [{ index: 0, id: 'zz', args: '}' }])).toEqual([
      'a f {}',
    ]);
  });

  it('without ids each get one of ours, the same every time', () => {
    const chunks = [[{ name: 'f', args: '{}' }], [{ name: 'g', args: '{}' }]];
    expect(assembled(...chunks)).toEqual(['ours f {}', 'ours g {}']);
    const calls = new ToolCallIds('chatcmpl-x');
    const pieces = calls.complete(readToolCalls(chunks.flat().map(({ name }) => ({ function: { name } }))));
    const ids = [...pieces, ...calls.close(false)].flatMap(({ id }) => id ?? []);
    expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
  });
});
