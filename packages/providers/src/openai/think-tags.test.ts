import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ThinkTags, withoutThinking } from './think-tags.ts';

const streamed = (pieces: readonly string[]): string => {
  const tags = new ThinkTags();
  return pieces.map((piece) => tags.take(piece)).join('') + tags.end();
};

describe('content without its reasoning trace', () => {
  it.each([
    ['<think>hm</think>\n\nYes.', 'Yes.'],
    [' \n<think>hm, <think> twice</think>Yes.', 'Yes.'],
    ['<think></think>Yes.', 'Yes.'],
    ['<think>never ends', ''],
    ['Use <think>tags</think> so.', 'Use <think>tags</think> so.'],
    ['<thinking>is another tag</thinking>', '<thinking>is another tag</thinking>'],
    ['<thi', '<thi'],
    ['', ''],
  ])('of %j is %j, whole and in every cut', (content, shown) => {
    expect(withoutThinking(content)).toBe(shown);
    fc.assert(
      fc.property(fc.array(fc.nat(content.length), { maxLength: 6 }), (cuts) => {
        const ends = [...cuts].sort((a, b) => a - b);
        const pieces = [0, ...ends].map((start, at) => content.slice(start, ends[at]));
        expect(streamed(pieces)).toBe(shown);
      }),
    );
  });

  it('is cut at a closing tag whose opening tag was in the prompt, if it is whole', () => {
    expect(withoutThinking('hm\n</think>\n\nYes.')).toBe('Yes.');
  });
});
