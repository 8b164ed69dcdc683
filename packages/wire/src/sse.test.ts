import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SseEventTooLargeError, SseParser, sseDone, sseFrame } from './sse.ts';

function parseAll(pieces: readonly string[]): { events: { data: string; event: string }[]; unknown: string[] } {
  const events: { data: string; event: string }[] = [];
  const unknown: string[] = [];
  const parser = new SseParser({
    onEvent: (data, event) => events.push({ data, event }),
    onUnknownLine: (line) => unknown.push(line),
  });
  for (const piece of pieces) parser.push(piece);
  parser.end();
  return { events, unknown };
}

const datas = (...pieces: string[]): string[] => parseAll(pieces).events.map((event) => event.data);

describe('SseParser', () => {
  it('reads LF, CRLF and CR line ends', () => {
    expect(datas('data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n')).toEqual(['a', 'b', 'c', 'd']);
  });

  it('accepts a missing space after the colon, and takes only one space away', () => {
    expect(datas('data:a\n\ndata:  b\n\n')).toEqual(['a', ' b']);
  });

  it('ignores comments, ids and retry fields', () => {
    expect(datas(': OPENROUTER PROCESSING\n\nid: 4\nretry: 10\ndata: a\n\n')).toEqual(['a']);
  });

  it('completes a last event that has no blank line', () => {
    expect(datas('data: a\n\ndata: [DONE]')).toEqual(['a', '[DONE]']);
  });

  it('joins the data lines of one event and keeps its name', () => {
    expect(parseAll(['event: ping\ndata: a\ndata\ndata: b\n\ndata: c\n\n']).events).toEqual([
      { data: 'a\n\nb', event: 'ping' },
      { data: 'c', event: '' },
    ]);
  });

  it('reports a line that is no field, such as a bare JSON error body', () => {
    expect(parseAll(['{"error":{"message":"no"}}']).unknown).toEqual(['{"error":{"message":"no"}}']);
  });

  it('skips a byte order mark, decoded or as bytes', () => {
    expect(datas('\ufeffdata: a\n\n')).toEqual(['a']);
    expect(datas('\u00ef\u00bb\u00bfdata: a\n\n')).toEqual(['a']);
  });

  it('refuses an event without end instead of buffering it', () => {
    const parser = new SseParser({ onEvent: () => {}, maxEventChars: 100 });
    expect(() => {
      for (let i = 0; i < 50; i += 1) parser.push(`data: ${'x'.repeat(10)}\n`);
    }).toThrow(SseEventTooLargeError);
  });

  it('takes time in proportion to the length of a line, in however many pieces it comes', () => {
    const parser = new SseParser({ onEvent: () => {} });
    const startedAt = performance.now();
    parser.push('data: ');
    for (let size = 0; size < 3_000_000; size += 50) parser.push('x'.repeat(50));
    parser.push('\n\n');
    // Searching and joining again with each of the 60,000 pieces would take minutes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  it('gives the same events for every split of the stream', () => {
    const line = fc.oneof(
      fc.string().map((text) => `data: ${text.replace(/[\r\n]/g, ' ')}`),
      fc.string().map((text) => `data:${text.replace(/[\r\n]/g, ' ')}`),
      fc.constantFrom(': comment', 'event: x', 'id: 1', 'data', ''),
    );
    const stream = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')))
      .map((lines) => lines.map(([text, end]) => text + end).join(''));
    fc.assert(
      fc.property(stream, fc.array(fc.nat()), (text, cuts) => {
        const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
        const pieces = [0, ...at].map((start, i) => text.slice(start, at[i] ?? text.length));
        expect(parseAll(pieces)).toEqual(parseAll([text]));
        expect(parseAll([...text])).toEqual(parseAll([text]));
      }),
    );
  });

  it('reads back whatever the writer frames', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (payloads) => {
        const comment = (text: string): string => `: ${text.replace(/[\r\n]+/g, ' ')}\n\n`;
        const stream = payloads.map((payload) => comment(payload) + sseFrame(payload)).join('') + sseDone;
        const expected = payloads.map((payload) => payload.replace(/\r\n?/g, '\n'));
        expect(datas(stream)).toEqual([...expected, '[DONE]']);
      }),
    );
  });
});
