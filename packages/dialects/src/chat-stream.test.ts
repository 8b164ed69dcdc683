import { expect, it } from 'vitest';
import { type AnswerChunk, ChatStreamReader } from './chat-stream.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

it('tells a keep-alive from a piece of an event', () => {
  const chunks: AnswerChunk[] = [];
  const reader = new ChatStreamReader({ chunk: (chunk) => void chunks.push(chunk) });
  expect(reader.push(bytes(': waiting\n\n'))).toBe(true);
  expect(reader.push(bytes('data: {"id":'))).toBe(false);
  expect(reader.push(bytes('"a"}\n\n'))).toBe(false);
  expect(reader.push(bytes(': waiting\n\n'))).toBe(true);
  expect(reader.push(bytes('data: [DONE]\n\n: late\n\n'))).toBe(false);
  reader.end();
  expect(chunks).toEqual([{ id: 'a' }]);
});

it('skips what is no JSON object, and reads a last event without its blank line', () => {
  const chunks: AnswerChunk[] = [];
  const reader = new ChatStreamReader({ chunk: (chunk) => void chunks.push(chunk) });
  reader.push(bytes('data: nonsense\n\ndata: [1]\n\ndata: {"id":"ü"}'));
  reader.end();
  expect(chunks).toEqual([{ id: 'ü' }]);
});
