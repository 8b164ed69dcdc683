import { expect, it } from 'vitest';
import { segmentsOf, stoppedWords } from './turn-view.tsx';

it('takes code out of an answer, and leaves all else as text', () => {
  expect(segmentsOf('Look:\n```ts\nconst a = `b`;\n\n<b>\n```\nDone.')).toEqual([
    { kind: 'text', text: 'Look:' },
    { kind: 'code', language: 'ts', text: 'const a = `b`;\n\n<b>' },
    { kind: 'text', text: 'Done.' },
  ]);
  expect(segmentsOf('# No **markup** <i>here</i>')).toEqual([{ kind: 'text', text: '# No **markup** <i>here</i>' }]);
  expect(segmentsOf('')).toEqual([]);
});

it('keeps a block open that is still being written, and shorter fences inside longer ones', () => {
  expect(segmentsOf('```\nx')).toEqual([{ kind: 'code', language: '', text: 'x' }]);
  expect(segmentsOf('````md\n```\nx\n```\n````')).toEqual([{ kind: 'code', language: 'md', text: '```\nx\n```' }]);
});

it('is done at once with a line that is nearly a fence, however long it is', () => {
  const line = `${'~'.repeat(50_000)} ${' '.repeat(50_000)}\``;
  expect(segmentsOf(line)).toEqual([{ kind: 'text', text: line }]);
});

it('says that a stopped question is charged only once an answer has come', () => {
  const facts = { way: 'private', askedModel: 'acme/small' } as const;
  const words = 'Stopped. Your message and the text up to this point are charged.';
  expect(stoppedWords({ text: '', reasoning: '', facts })).toMatch(/If your message had been sent by then/);
  expect(stoppedWords({ text: '', reasoning: '', facts: { ...facts, requestId: 'req_1' } })).toBe(words);
  expect(stoppedWords({ text: '', reasoning: 'Hm', facts })).toBe(words);
});
