import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnswerBlock, AnswerBlocks, blocksOf } from './answer-blocks.ts';
import type { ChunkDelta } from './chat-stream.ts';

/** Returns everything that a listener hears of these deltas, and the blocks. */
function heard(deltas: readonly ChunkDelta[]): { readonly told: string[]; readonly blocks: AnswerBlock[] } {
  const told: string[] = [];
  const blocks: AnswerBlock[] = [];
  const reader = new AnswerBlocks({
    onStart: (block) =>
      void told.push(`start ${block.kind}${block.kind === 'call' ? ` ${block.id} ${block.name}` : ''}`),
    onText: (text) => void told.push(text),
    onEnd(block) {
      told.push('end');
      blocks.push(block);
    },
  });
  for (const delta of deltas) reader.add(delta);
  reader.finish();
  return { told, blocks };
}

const begin = (index: number, text = ''): ChunkDelta => ({
  tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: `tool${index}`, arguments: text } }],
});
const more = (index: number, text: string): ChunkDelta => ({ tool_calls: [{ index, function: { arguments: text } }] });
const call = (index: number, text: string): AnswerBlock => ({
  kind: 'call',
  id: `call_${index}`,
  name: `tool${index}`,
  text,
});

describe('the blocks of an answer', () => {
  it('follow one another', () => {
    const { told } = heard([
      { reasoning: 'hm' },
      { content: 'a' },
      { content: 'b' },
      begin(0),
      more(0, '{}'),
      { content: 'c' },
    ]);
    expect(told).toEqual([
      ...['start reasoning', 'hm', 'end'],
      ...['start text', 'a', 'b', 'end'],
      ...['start call call_0 tool0', '{}', 'end'],
      ...['start text', 'c', 'end'],
    ]);
  });

  it('let a call begin as soon as the one before is whole', () => {
    const { told } = heard([begin(0), more(0, '{"a":'), more(0, '1}'), begin(1, '{}')]);
    expect(told).toEqual(['start call call_0 tool0', '{"a":', '1}', 'end', 'start call call_1 tool1', '{}', 'end']);
  });

  it('keep calls apart whose pieces alternate', () => {
    const { told, blocks } = heard([begin(0), begin(1), more(1, '{"b"'), more(0, '{"a":1}'), more(1, ':2}')]);
    expect(blocks).toEqual([call(0, '{"a":1}'), call(1, '{"b":2}')]);
    expect(told).toEqual([
      'start call call_0 tool0',
      '{"a":1}',
      'end',
      'start call call_1 tool1',
      '{"b"',
      ':2}',
      'end',
    ]);
  });

  it('keep any calls apart, however their pieces mix', () => {
    const calls = fc.array(fc.dictionary(fc.string(), fc.integer()), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(calls, fc.array(fc.nat(), { maxLength: 60 }), (inputs, picks) => {
        const rest = inputs.map((input) => [...JSON.stringify(input)]);
        const deltas = inputs.map((_, index) => begin(index));
        for (const pick of picks) {
          const index = pick % inputs.length;
          const piece = rest[index]?.splice(0, 2).join('');
          if (piece) deltas.push(more(index, piece));
        }
        for (const [index, pieces] of rest.entries()) deltas.push(more(index, pieces.join('')));
        expect(heard(deltas).blocks).toEqual(inputs.map((input, index) => call(index, JSON.stringify(input))));
      }),
    );
  });

  it('give a call without an id one of its own', () => {
    expect(heard([{ tool_calls: [{ index: 3, function: { name: 'x', arguments: '{}' } }] }]).blocks).toEqual([
      { kind: 'call', id: 'call_3', name: 'x', text: '{}' },
    ]);
  });

  it('do not repeat a trace that details repeat', () => {
    const format = 'anthropic-claude-v1';
    const piece = (text: string): ChunkDelta => ({
      reasoning: text,
      reasoning_details: [{ type: 'reasoning.text', text, format, index: 0 }],
    });
    const signature: ChunkDelta = { reasoning_details: [{ type: 'reasoning.text', signature: 's', format, index: 0 }] };
    const { told, blocks } = heard([piece('a'), piece('b'), signature]);
    expect(told).toEqual(['start reasoning', 'a', 'b', 'end']);
    expect(blocks).toEqual([
      {
        kind: 'reasoning',
        text: 'ab',
        details: [{ type: 'reasoning.text', text: 'ab', signature: 's', format, index: 0 }],
      },
    ]);
  });

  it('end a thought at its signature, and where its place among the thoughts changes', () => {
    const text = (index: number, signature?: string): ChunkDelta => ({
      reasoning_details: [{ type: 'reasoning.text', text: 'x', index, ...(signature ? { signature } : {}) }],
    });
    expect(heard([text(0, 's'), text(0, 't'), text(1), text(2)]).blocks).toHaveLength(4);
  });

  it('give a piece that only its provider can read a block of its own', () => {
    const detail = { type: 'reasoning.encrypted' as const, data: 'opaque' };
    expect(heard([{ reasoning: 'a' }, { reasoning_details: [detail] }, { reasoning: 'b' }]).blocks).toEqual([
      { kind: 'reasoning', text: 'a', details: [] },
      { kind: 'reasoning', text: '', details: [detail] },
      { kind: 'reasoning', text: 'b', details: [] },
    ]);
  });

  it('of a whole answer are the same', () => {
    expect(blocksOf({ content: 'hi', refusal: null, reasoning: 'hm' })).toEqual([
      { kind: 'reasoning', text: 'hm', details: [] },
      { kind: 'text', text: 'hi' },
    ]);
    expect(blocksOf({ content: null, refusal: 'no' })).toEqual([{ kind: 'refusal', text: 'no' }]);
    expect(blocksOf({})).toEqual([]);
  });
});
