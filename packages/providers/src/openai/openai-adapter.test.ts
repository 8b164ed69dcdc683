import { type EmbeddingsRequest, embeddingsRequestSchema, speechRequestSchema } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { embeddingsRequest, openAiSpeech, openEmbeddings } from './openai-adapter.ts';

const ask = (body: object = {}): EmbeddingsRequest =>
  embeddingsRequestSchema.parse({ model: 'acme/embed', input: 'x', ...body });
const target = (extraBody: Record<string, unknown> = {}) => ({ upstreamModel: 'embed-1', extraBody });
const upstream = (body: object = {}, extraBody?: Record<string, unknown>) =>
  JSON.parse(embeddingsRequest(ask(body), target(extraBody)).body);

const base64 = (vector: readonly number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64');
const entry = (embedding: unknown, index?: unknown) => ({
  object: 'embedding',
  embedding,
  ...(index === undefined ? {} : { index }),
});
const usage = { prompt_tokens: 4, total_tokens: 4 };

function readText(text: string, request: object = {}, pieceBytes = 50) {
  const reader = openEmbeddings(ask(request));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.push(bytes.subarray(at, at + pieceBytes));
  return reader.end();
}
const read = (data: unknown, request?: object) =>
  readText(JSON.stringify({ object: 'list', model: 'THEIRS', data, usage }), request);

/** The vectors of an answer, as the JSON texts that clients get. */
function texts(text: string, request: object = {}, pieceBytes?: number): string[] {
  const reading = readText(text, request, pieceBytes);
  if (!reading.ok) throw new Error(`not read: ${reading.outcome}`);
  return reading.answer.vectors.map((json) => Buffer.concat(json).toString('utf8'));
}
const vectors = (data: unknown, request: object = {}): unknown[] =>
  texts(JSON.stringify({ object: 'list', model: 'THEIRS', data, usage }), request).map((json) => JSON.parse(json));

describe('a request for embeddings', () => {
  it('is sent upstream field by field, without nulls and unknown fields', () => {
    const body = {
      encoding_format: null,
      dimensions: null,
      user: 'CANARY',
      provider: 'acme',
      CANARY: 1,
      input_type: 'query',
    };
    expect(upstream(body)).toEqual({ model: 'embed-1', input: 'x' });
    const whole = { input: ['a', 'b'], encoding_format: 'base64', dimensions: 64 };
    expect(upstream(whole)).toEqual({ model: 'embed-1', ...whole });
    expect(embeddingsRequest(ask(), target())).toMatchObject({ path: '/embeddings', accept: 'application/json' });
  });

  it('carries texts, tokens and lists of tokens', () => {
    for (const input of ['é', ['a', '"'], [1, 2], [[1, 2], [3]]]) expect(upstream({ input }).input).toEqual(input);
  });

  it('has the extra body, which never replaces our own fields', () => {
    expect(upstream({}, { model: 'X', input: 'X', truncate: 'END' })).toEqual({
      model: 'embed-1',
      input: 'x',
      truncate: 'END',
    });
  });
});

describe('an answer with embeddings', () => {
  it('has the vectors and the reported usage', () => {
    expect(read([entry([0.5, -1], 0)])).toEqual({
      ok: true,
      answer: { vectors: [expect.anything()], dimensions: 2 },
      reported: { usage: expect.objectContaining({ promptTokens: 4, completionTokens: 0 }), details: {} },
      producedBytes: 0,
    });
  });

  it('has the requested encoding, whichever the provider used', () => {
    const floats = [0.5, -1.25, 3];
    for (const encoding_format of [undefined, null, 'float']) {
      expect(vectors([entry(floats)], { encoding_format })).toEqual([floats]);
      expect(vectors([entry(base64(floats))], { encoding_format })).toEqual([floats]);
    }
    expect(vectors([entry(floats)], { encoding_format: 'base64' })).toEqual([base64(floats)]);
    expect(vectors([entry(base64(floats))], { encoding_format: 'base64' })).toEqual([base64(floats)]);
  });

  it('converts 32-bit floats exactly in either direction', () => {
    const vector = fc.array(
      fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(vector, (floats) => {
        expect(vectors([entry(base64(floats))])).toEqual([floats]);
        expect(vectors([entry(floats)], { encoding_format: 'base64' })).toEqual([base64(floats)]);
      }),
    );
  });

  it('keeps the bytes of numbers if both sides use numbers', () => {
    const written = ['[0.1000000000000000055511151231257827,-0.0, 1E-7]', '[12345678901234567890.5 , 3e2,0 ]'];
    const data = written.map((embedding, index) => `{"index":${index},"embedding":${embedding}}`);
    for (const size of [1, 7, 10_000])
      expect(texts(`{"data":[${data.join(', ')}]}`, { input: ['a', 'b'] }, size)).toEqual(written);
  });

  it('converts base64 to its numbers, including a negative zero', () => {
    expect(texts(JSON.stringify({ data: [entry(base64([-0, 0.1]))] }))).toEqual(['[-0.0,0.10000000149011612]']);
  });

  it('without the requested `dimensions` fails as unprocessable, so that another provider is tried', () => {
    expect(vectors([entry([1, 2])], { dimensions: 2 })).toEqual([[1, 2]]);
    expect(vectors([entry(base64([1, 2]))], { dimensions: 2, encoding_format: 'base64' })).toHaveLength(1);
    expect(read([entry([1, 2, 3])], { dimensions: 2 })).toEqual({ ok: false, outcome: 'unprocessable' });
    expect(read([entry(base64([1]))], { dimensions: 2 })).toEqual({ ok: false, outcome: 'unprocessable' });
  });

  it('is in the order of the inputs, whatever the provider’s order', () => {
    const input = ['a', 'b', 'c'];
    expect(vectors([entry([2], 2), entry([0], 0), entry([1], 1)], { input })).toEqual([[0], [1], [2]]);
    expect(vectors([entry([0]), entry([1]), entry([2])], { input })).toEqual([[0], [1], [2]]);
  });

  it('has one vector for each input: for a text or for a token array', () => {
    expect(vectors([entry([1])], { input: [5, 6, 7] })).toEqual([[1]]);
    expect(vectors([entry([1], 0), entry([2], 1)], { input: [[5], [6, 7]] })).toEqual([[1], [2]]);
  });

  it.each<[name: string, data: unknown, request?: object]>([
    ['fewer vectors than inputs', [entry([1], 0)]],
    ['more vectors than inputs', [entry([1], 0), entry([1], 1), entry([1], 2)]],
    ['an index twice', [entry([1], 0), entry([1], 0)]],
    ['an index beyond the inputs', [entry([1], 0), entry([1], 2)]],
    ['a negative index', [entry([1], 0), entry([1], -1)]],
    ['vectors of two lengths', [entry([1], 0), entry([1, 2], 1)]],
    [
      'a number that no float holds, asked for as base64',
      [entry([1], 0), entry([1e39], 1)],
      { encoding_format: 'base64' },
    ],
    ['half an index', [entry([1], 0), entry([1], 0.5)]],
    ['an index that is a text', [entry([1], 0), entry([1], '1')]],
    ['an empty vector', [entry([1], 0), entry([], 1)]],
    ['a vector with a gap', [entry([1], 0), entry([null], 1)]],
    ['a vector of texts', [entry([1], 0), entry(['1'], 1)]],
    ['base64 of no whole floats', [entry([1], 0), entry('AAAA', 1)]],
    ['base64 of what is no number', [entry([1], 0), entry(base64([Number.NaN]), 1)]],
    ['no vector', [entry([1], 0), { index: 1 }]],
    ['an entry that is none', [entry([1], 0), 7]],
    ['no list', { 0: entry([1]) }],
  ])('is malformed with %s', (_, data, request = {}) => {
    expect(read(data, { input: ['a', 'b'], ...request })).toEqual({ ok: false, outcome: 'malformed_answer' });
  });

  it('may be an error with status 200', () => {
    const error = (body: string) => readText(body);
    expect(error('{"error":{"code":429}}')).toEqual({ ok: false, outcome: 'rate_limited' });
    expect(error('{"object":"error","code":500}')).toEqual({ ok: false, outcome: 'server_error' });
    expect(error('<html>')).toEqual({ ok: false, outcome: 'malformed_answer' });
  });
});

const askSpeech = (body: object, defaultVoice?: string) =>
  openAiSpeech.request(speechRequestSchema.parse({ model: 'acme/voice', input: 'héllo', ...body }), {
    upstreamModel: 'voice-1',
    defaultVoice,
  });

describe('a request for speech', () => {
  it('is sent upstream field by field', () => {
    const request = askSpeech({
      voice: 'nova',
      provider: 'acme',
      speed: 2,
      instructions: 'CANARY',
      response_format: null,
    });
    expect(request).toMatchObject({ path: '/audio/speech', accept: 'audio/mpeg' });
    expect(JSON.parse(request.body)).toEqual({
      model: 'voice-1',
      input: 'héllo',
      voice: 'nova',
      response_format: 'mp3',
    });
  });

  it("uses the provider's default voice if it names none", () => {
    expect(JSON.parse(askSpeech({}, 'alloy').body)).toMatchObject({ voice: 'alloy' });
    expect(JSON.parse(askSpeech({ voice: 'nova' }, 'alloy').body)).toMatchObject({ voice: 'nova' });
    expect(JSON.parse(askSpeech({}).body)).not.toHaveProperty('voice');
  });
});

describe('an answer with speech', () => {
  it('is audio by its content type', () => {
    for (const type of ['audio/mpeg', 'Audio/MPEG; rate=24000', 'audio/mp3', 'application/octet-stream', ''])
      expect(openAiSpeech.isAudio(type), type).toBe(true);
    for (const type of ['application/json', 'text/html', 'audio/wav', 'audio/mpegurl', 'text/event-stream'])
      expect(openAiSpeech.isAudio(type), type).toBe(false);
  });

  it('is classified by its error if it is not audio', () => {
    expect(openAiSpeech.classifyBody(Buffer.from('{"error":{"code":429}}'))).toBe('rate_limited');
    expect(openAiSpeech.classifyBody(Buffer.from('{"error":{"code":"content_policy_violation"}}'))).toBe(
      'content_refused',
    );
    for (const body of ['{"audio":"..."}', '<html>', '', '[]', '"x"'])
      expect(openAiSpeech.classifyBody(Buffer.from(body)), body).toBe('malformed_answer');
  });
});
