import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sealedChatSchema } from './sealed-chat.ts';
import { FrameMeter, sealedAnswerBytes, sealedContentBytes } from './sealed-length.ts';

const overhead = 60;
const sealed = (bytes: number): string => 'ab'.repeat(overhead + bytes);

describe('a request that was sealed field by field', () => {
  const chat = (extra: object = {}) => ({
    model: 'm',
    messages: [{ role: 'user', content: sealed(5) }],
    stream: true,
    ...extra,
  });
  const schema = sealedChatSchema(overhead);

  it('is measured by the byte', () => {
    const messages = [0, 3, 1000].map((bytes) => ({ role: 'user', content: sealed(bytes) }));
    expect(sealedContentBytes(schema.parse(chat({ messages })), overhead)).toBe(1003);
  });

  it.each([
    [chat({ messages: [{ role: 'user', content: 'What is the time?' }] })],
    [chat({ messages: [{ role: 'user', content: '' }] })],
    [chat({ messages: [{ role: 'user', content: sealed(0).slice(2) }] })],
    [chat({ messages: [{ role: 'user', content: `${sealed(5)}g0` }] })],
    [chat({ messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }] })],
    [chat({ messages: [{ role: 'user', content: sealed(5), name: 'Ann' }] })],
    [chat({ messages: [{ role: 'Ann asks', content: sealed(5) }] })],
    [chat({ tools: [] })],
    [chat({ stop: ['x'] })],
    [chat({ user: 'Ann' })],
    [chat({ reasoning_effort: 'secret' })],
    [chat({ venice_parameters: { enable_e2ee: true, character_slug: 'x' } })],
  ])('is refused where it may hold something in clear: %#', (body) => {
    expect(schema.safeParse(body).success).toBe(false);
  });
});

describe('an answer that was sealed field by field', () => {
  it('counts what is said, once', () => {
    const delta = { role: 'assistant', content: sealed(4), reasoning: sealed(7), reasoning_content: sealed(7) };
    expect(sealedAnswerBytes({ choices: [{ delta }] }, overhead)).toBe(11);
    expect(sealedAnswerBytes({ choices: [{ message: { content: sealed(2), refusal: sealed(1) } }] }, overhead)).toBe(3);
  });

  it.each([
    null,
    'x',
    { choices: [] },
    { choices: [null] },
    { choices: [{ delta: { content: 'short', tool_calls: 'x' } }] },
  ])('counts nothing in %j', (answer) => {
    expect(sealedAnswerBytes(answer, overhead)).toBe(0);
  });
});

describe('FrameMeter', () => {
  it('counts the same for every split of the bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 40 })), fc.array(fc.nat()), (lengths, cuts) => {
        const bytes = Buffer.concat(
          lengths.map((length) => {
            const frame = Buffer.alloc(4 + length, 1);
            frame.writeUInt32BE(length);
            return frame;
          }),
        );
        const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const meter = new FrameMeter();
        for (const [i, start] of [0, ...at].entries()) meter.push(bytes.subarray(start, at[i] ?? bytes.length));
        expect(meter.plaintextBytes).toBe(lengths.reduce((sum, length) => sum + Math.max(0, length - 16), 0));
      }),
    );
  });
});
