import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { message } from '../testing/fixtures.ts';
import { type EventStreamMessage, EventStreamParser } from './event-stream.ts';

function parse(pieces: readonly Buffer[]): {
  readonly parser: EventStreamParser;
  readonly heard: EventStreamMessage[];
} {
  const heard: EventStreamMessage[] = [];
  const parser = new EventStreamParser((each) => heard.push(each));
  for (const piece of pieces) parser.push(piece.toString('latin1'));
  return { parser, heard };
}

const hello = message({ ':event-type': 'hello', ':message-type': 'event' }, '{"text":"Grüße 🦔"}');

describe('an event stream', () => {
  it('is read whole in every split', () => {
    const payloads = fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 5 });
    fc.assert(
      fc.property(payloads, fc.array(fc.nat({ max: 400 })), (texts, places) => {
        const bytes = Buffer.concat(texts.map((text, at) => message({ ':event-type': `e${at}` }, text)));
        const ends = [...new Set(places)].filter((place) => place < bytes.length).sort((a, b) => a - b);
        const { heard, parser } = parse([0, ...ends].map((start, at) => bytes.subarray(start, ends[at])));
        expect(heard.map(({ payload }) => payload)).toEqual(texts);
        expect(heard.map(({ headers }) => headers.get(':event-type'))).toEqual(texts.map((_, at) => `e${at}`));
        expect(parser.isBetweenMessages).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('may hold headers of every type; only strings are read', () => {
    const sizes = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];
    const others = sizes.flatMap((size, type) =>
      size === undefined ? [] : [[`h${type}`, { type, bytes: Buffer.alloc(size, 0xff) }] as const],
    );
    const bytes = { type: 6, bytes: Buffer.from([0, 3, 1, 2, 3]) };
    const { heard } = parse([message({ ...Object.fromEntries(others), bytes, ':event-type': 'last' }, 'x')]);
    expect([...(heard[0]?.headers ?? [])]).toEqual([[':event-type', 'last']]);
  });

  it('knows that a message is not yet whole', () => {
    const { parser, heard } = parse([hello.subarray(0, -1)]);
    expect(parser.isBetweenMessages).toBe(false);
    expect(heard).toEqual([]);
  });

  it.each([
    ['a length with another checksum', 3],
    ['a header that was changed', 16],
    ['a payload that was changed', hello.length - 10],
    ['a checksum that was changed', hello.length - 1],
  ])('with %s is rejected', (_, at) => {
    const changed = Buffer.from(hello);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => parse([changed])).toThrow();
  });

  it.each([
    ['text', Buffer.from('{"message":"this is no event stream at all"}')],
    ['a length beyond all measure', huge()],
    ['headers longer than the message', overlong()],
    ['a header of an unknown type', message({ h: { type: 11, bytes: Buffer.from([1]) } }, '')],
  ])('that is %s is rejected', (_, bytes) => {
    expect(() => parse([bytes])).toThrow();
  });
});

function huge(): Buffer {
  const bytes = message({}, 'x');
  bytes.writeUInt32BE(64 * 1024 * 1024, 0);
  return bytes;
}

function overlong(): Buffer {
  const bytes = message({}, 'x');
  bytes.writeUInt32BE(1000, 4);
  return bytes;
}
