import { type EmbeddingsRequest, embeddingsRequestSchema } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ours, target } from '../testing/fixtures.ts';
import { embeddingsRequest, readEmbeddings } from './embeddings.ts';

const ask = (body: object = {}): EmbeddingsRequest =>
  embeddingsRequestSchema.parse({ model: 'acme/embed', input: 'x', ...body });
const upstream = (body: object = {}, more: Parameters<typeof target>[0] = {}) =>
  JSON.parse(embeddingsRequest(ask(body), target({ upstreamModel: 'embed-1', ...more })).body);

const base64 = (vector: readonly number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64');
const entry = (embedding: unknown, index?: unknown) => ({
  object: 'embedding',
  embedding,
  ...(index === undefined ? {} : { index }),
});
const usage = { prompt_tokens: 4, total_tokens: 4 };

const read = (data: unknown, request: object = {}) =>
  readEmbeddings(Buffer.from(JSON.stringify({ object: 'list', model: 'THEIRS', data, usage })), ask(request), ours);

function vectors(data: unknown, request: object = {}): unknown[] {
  const reading = read(data, request);
  if (!reading.ok) throw new Error(`not read: ${reading.outcome}`);
  expect(reading.answer.data.map(({ index }) => index)).toEqual(reading.answer.data.map((_, i) => i));
  return reading.answer.data.map(({ embedding }) => embedding);
}

describe('a request for embeddings', () => {
  it('goes upstream field by field, without null and without what was not checked', () => {
    const body = {
      encoding_format: null,
      dimensions: null,
      user: null,
      provider: 'acme',
      CANARY: 1,
      input_type: 'query',
    };
    expect(upstream(body)).toEqual({ model: 'embed-1', input: 'x' });
    const whole = { input: ['a', 'b'], encoding_format: 'base64', dimensions: 64, user: 'u' };
    expect(upstream(whole)).toEqual({ model: 'embed-1', ...whole });
    expect(embeddingsRequest(ask(), target())).toMatchObject({ path: '/embeddings', accept: 'application/json' });
  });

  it('carries texts, tokens and lists of tokens', () => {
    for (const input of ['é', ['a', '"'], [1, 2], [[1, 2], [3]]]) expect(upstream({ input }).input).toEqual(input);
  });

  it('has the extra body, which replaces nothing that is ours', () => {
    expect(upstream({}, { extraBody: { model: 'X', input: 'X', truncate: 'END' } })).toEqual({
      model: 'embed-1',
      input: 'x',
      truncate: 'END',
    });
  });
});

describe('an answer with embeddings', () => {
  it('is written under the canonical model, with the usage that was reported', () => {
    expect(read([entry([0.5, -1], 0)])).toEqual({
      ok: true,
      answer: { object: 'list', model: ours.model, data: [{ object: 'embedding', index: 0, embedding: [0.5, -1] }] },
      reported: { usage: expect.objectContaining({ promptTokens: 4, completionTokens: 0 }), shown: expect.anything() },
      producedBytes: 0,
    });
  });

  it('has the encoding that was asked for, whichever the provider chose', () => {
    const floats = [0.5, -1.25, 3];
    for (const encoding_format of [undefined, null, 'float']) {
      expect(vectors([entry(floats)], { encoding_format })).toEqual([floats]);
      expect(vectors([entry(base64(floats))], { encoding_format })).toEqual([floats]);
    }
    expect(vectors([entry(floats)], { encoding_format: 'base64' })).toEqual([base64(floats)]);
    expect(vectors([entry(base64(floats))], { encoding_format: 'base64' })).toEqual([base64(floats)]);
  });

  it('loses nothing of a 32-bit float in either direction', () => {
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

  it('is in the order of the inputs, whichever the provider answered in', () => {
    const input = ['a', 'b', 'c'];
    expect(vectors([entry([2], 2), entry([0], 0), entry([1], 1)], { input })).toEqual([[0], [1], [2]]);
    expect(vectors([entry([0]), entry([1]), entry([2])], { input })).toEqual([[0], [1], [2]]);
  });

  it('has as many vectors as there were inputs: one for a text or a token array', () => {
    expect(vectors([entry([1])], { input: [5, 6, 7] })).toEqual([[1]]);
    expect(vectors([entry([1], 0), entry([2], 1)], { input: [[5], [6, 7]] })).toEqual([[1], [2]]);
  });

  it.each([
    ['fewer vectors than inputs', [entry([1], 0)]],
    ['more vectors than inputs', [entry([1], 0), entry([1], 1), entry([1], 2)]],
    ['an index twice', [entry([1], 0), entry([1], 0)]],
    ['an index beyond the inputs', [entry([1], 0), entry([1], 2)]],
    ['a negative index', [entry([1], 0), entry([1], -1)]],
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
  ])('is malformed with %s', (_, data) => {
    expect(read(data, { input: ['a', 'b'] })).toEqual({ ok: false, outcome: 'malformed_answer' });
  });

  it('may be an error under status 200', () => {
    const error = (body: string) => readEmbeddings(Buffer.from(body), ask(), ours);
    expect(error('{"error":{"code":429}}')).toEqual({ ok: false, outcome: 'rate_limited' });
    expect(error('{"object":"error","code":500}')).toEqual({ ok: false, outcome: 'server_error' });
    expect(error('<html>')).toEqual({ ok: false, outcome: 'malformed_answer' });
  });
});
