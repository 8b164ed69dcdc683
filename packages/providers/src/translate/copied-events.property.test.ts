import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseFrames, runStream, theirs } from '../testing/fixtures.ts';
import { readSlowly } from '../testing/slow-stream.ts';

const nasty = fc.constantFrom(
  ...['"', '\\', '\\\\', '\\"', '\n', '\r\n', '\t', '\b', '\u0000', '\u001f', '\u007f', '\u2028', '/', ' '],
  ...['🦔', '👩‍👩‍👧', 'é', '日本', '\ufeff', '\ufffd', '\ud83d', '\udd94', '\\u0041', '\\n', 'SottoProbe7f3a9c'],
  ...['<think>', '</think>', '<thi', 'nk>', '</', 'think>'],
  ...['data: [DONE]\n\n', '"},"finish_reason":"stop"}]}', '","usage":{"prompt_tokens":1},"a":"', '{"error":{}}'],
);
const text = fc
  .array(fc.oneof(nasty, fc.string({ unit: 'grapheme', maxLength: 6 }), fc.string({ unit: 'binary', maxLength: 4 })), {
    maxLength: 5,
  })
  .map((parts) => parts.join(''));

/** JSON as the serializers of different providers write it. */
const serializers: Record<string, (value: object) => string> = {
  compact: (value) => JSON.stringify(value),
  ascii: (value) =>
    JSON.stringify(value).replace(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  spaced: (value) => spaced(value),
  slashed: (value) => JSON.stringify(value).replaceAll('/', '\\/'),
};

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, entry]) => `${JSON.stringify(name)}: ${spaced(entry)}`)
    .join(', ')}}`;
}

/** Envelopes as different providers order and fill them. */
const envelopes: ((created: number, choice: object | undefined, more: object) => object)[] = [
  (created, choice, more) => ({ ...theirs, object: 'chat.completion.chunk', created, choices: list(choice), ...more }),
  (created, choice, more) => ({
    choices: list(choice === undefined ? choice : { ...choice, logprobs: null }),
    usage: null,
    created,
    ...more,
    model: theirs.model,
    id: theirs.id,
  }),
  (created, choice, more) => ({
    ...theirs,
    created,
    choices: list(choice),
    usage: null,
    ...more,
    obfuscation: 'x7Qd9'.repeat(JSON.stringify(choice ?? '').length % 4),
  }),
  (created, choice, more) => ({ id: theirs.id, error: null, choices: list(choice), created, ...more, 'x"y': '\\' }),
];
const list = (choice: object | undefined): object[] => (choice === undefined ? [] : [choice]);

interface Style {
  readonly serialize: string;
  readonly envelope: number;
  readonly beside: object;
}

const marked = 'TEXTGOESHERE';
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10, cost: 99 };
const written = (style: Style, created: number, choice: object | undefined, more: object = {}): string =>
  (serializers[style.serialize] ?? JSON.stringify)(envelopes[style.envelope]?.(created, choice, more) ?? {});

/** JSON source in the place of a text, in a form that no serializer writes. */
const rawSource = fc
  .array(
    fc.constantFrom(
      ...['"', '\\', '\\u', '\\x', '\\u00e9', '\\"', '00', ',', ':', '{', '}', '[', ']', 'a', 'é', '\u0001', '\t'],
      ...[
        '","content":"b',
        '"finish_reason":"stop"',
        '"usage":{"prompt_tokens":1}',
        '"error":{"code":429}',
        '\n',
        '\r',
      ],
      ...['\ndata: ', '\n\ndata: [DONE]\n\n', '"},"finish_reason":"stop","x":{"y":"'],
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join(''));

const eventOf = (style: Style): fc.Arbitrary<string> => {
  const created = fc.constantFrom(1, 1, 1, 1, 2);
  const delta = (members: object, finish: string | null = null) => ({
    index: 0,
    delta: members,
    finish_reason: finish,
  });
  const toolCall = fc.record({
    index: fc.constantFrom(0, 1),
    id: fc.constantFrom('', 'call_1'),
    name: fc.constantFrom('f', 'f', ''),
    args: text,
  });
  return fc.oneof(
    {
      weight: 14,
      arbitrary: fc
        .tuple(created, text)
        .map(([at, content]) => written(style, at, delta({ ...style.beside, content }))),
    },
    {
      weight: 5,
      arbitrary: fc
        .tuple(created, text)
        .map(([at, said]) => written(style, at, delta({ content: null, reasoning_content: said }))),
    },
    { weight: 2, arbitrary: text.map((reasoning) => written(style, 1, delta({ reasoning }))) },
    { weight: 2, arbitrary: text.map((content) => written(style, 1, delta({ role: 'assistant', content }))) },
    {
      weight: 1,
      arbitrary: fc.tuple(text, text).map(([content, reasoning]) => written(style, 1, delta({ content, reasoning }))),
    },
    { weight: 1, arbitrary: text.map((refusal) => written(style, 1, delta({ refusal }))) },
    {
      weight: 2,
      arbitrary: toolCall.map(({ index, id, name, args }) =>
        written(
          style,
          1,
          delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] }),
        ),
      ),
    },
    {
      weight: 6,
      arbitrary: fc
        .tuple(rawSource, fc.constantFrom('content', 'reasoning_content'))
        .map(([source, field]) =>
          written(
            style,
            1,
            delta({ ...(field === 'content' ? style.beside : { content: null }), [field]: marked }),
          ).replace(marked, () => source),
        ),
    },
    { weight: 1, arbitrary: fc.constant(written(style, 1, undefined, { usage })) },
    { weight: 1, arbitrary: text.map((content) => written(style, 1, delta({ ...style.beside, content }), { usage })) },
    {
      weight: 1,
      arbitrary: text.map((content) =>
        written(style, 1, delta({ ...style.beside, content }), { error: { code: 503 } }),
      ),
    },
    { weight: 1, arbitrary: text.map((content) => written(style, 1, delta({ content }, 'stop'))) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '[DONE]',
        '',
        ' ',
        '{}',
        '[]',
        'null',
        '{"choices":[]}',
        '{"object":"error","code":500}',
      ),
    },
  );
};

const framed = fc.constantFrom<(data: string) => string>(
  ...Array.from({ length: 9 }, () => (data: string) => `data: ${data}\n\n`),
  (data) => `data:${data}\n\n`,
  (data) => `data: ${data}\r\n\r\n`,
  (data) => `: a comment\n\ndata: ${data}\n\n`,
  (data) => `event: message\nid: 7\ndata: ${data}\n\n`,
  (data) => `x-new-field: 1\ndata: ${data}\n\n`,
);

const stream = fc
  .record({
    serialize: fc.constantFrom(...Object.keys(serializers)),
    envelope: fc.nat({ max: envelopes.length - 1 }),
    beside: fc.constantFrom({}, {}, { reasoning_content: null }),
  })
  .chain((style) => fc.array(fc.tuple(eventOf(style), framed), { minLength: 1, maxLength: 24 }))
  .map((events) => events.map(([data, frame]) => frame(data)).join(''));

type Split = readonly number[] | 'events' | 'bytes';
const split: fc.Arbitrary<Split> = fc.oneof(
  fc.constant<Split>('events'),
  fc.constant<Split>('bytes'),
  fc.array(fc.nat(), { maxLength: 12 }),
);

function cut(whole: Buffer, how: Split): Buffer[] {
  if (how === 'bytes') return Array.from(whole, (byte) => Buffer.from([byte]));
  const ends =
    how === 'events'
      ? [...whole.toString('latin1').matchAll(/\n\n/g)].map(({ index }) => index + 2)
      : [...new Set(how.map((at) => at % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, i) => whole.subarray(start, ends[i] ?? whole.length));
}

it('produces the same chunks as parsing every event, for every stream and split', () => {
  fc.assert(
    fc.property(stream, split, fc.boolean(), (source, how, stripReasoning) => {
      const whole = Buffer.from(source, 'utf8');
      const { reader, chunks, sent } = runStream(cut(whole, how), { stripReasoning });
      const slow = readSlowly(whole, { stripReasoning });
      expect(chunks).toEqual(slow.chunks);
      const { failure, isComplete, isTerminated, hasOutput, reported, events } = reader;
      const { chunks: _, producedBytes, reportedAtBytes, ...others } = slow;
      expect({ failure, isComplete, isTerminated, hasOutput, reported, events }).toEqual(others);
      // Half of a surrogate pair has no bytes of its own to count.
      if (sent.isWellFormed() && !/\\ud[89a-f]/.test(source))
        expect(reader).toMatchObject({ producedBytes, reportedAtBytes });
    }),
    {
      numRuns: 3000,
      examples: [
        // A whole, empty answer, then a call that no client could run.
        [
          [
            { delta: {}, finish_reason: 'stop' },
            { delta: { tool_calls: [{ index: 0, function: { arguments: '"' } }] }, finish_reason: null },
            { delta: {}, finish_reason: 'stop' },
          ]
            .map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`)
            .join(''),
          'events',
          false,
        ],
      ],
    },
  );
});

it('forwards every text unchanged, and none of the provider’s names', () => {
  const texts = fc.array(
    text.filter((piece) => !piece.includes('THEIRS')),
    { minLength: 1, maxLength: 30 },
  );
  const style = fc.record({
    serialize: fc.constantFrom(...Object.keys(serializers)),
    envelope: fc.nat({ max: envelopes.length - 1 }),
  });
  fc.assert(
    fc.property(texts, style, split, (pieces, { serialize, envelope }, how) => {
      const events = pieces.map((content) =>
        written({ serialize, envelope, beside: {} }, 1, { index: 0, delta: { content }, finish_reason: null }),
      );
      const source = [...events, '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
      const { text: read, sent, reader } = runStream(cut(Buffer.from(source), how));
      expect(read).toBe(pieces.join(''));
      expect(reader.failure).toBeUndefined();
      expect(parseFrames(sent).every(({ id, model, created }) => `${id} ${model} ${created}` === names)).toBe(true);
      for (const name of [theirs.id, theirs.model, theirs.system_fingerprint]) expect(sent).not.toContain(name);
    }),
    { numRuns: 1000 },
  );
});

const names = 'chatcmpl-ours acme/small 1750000000';
