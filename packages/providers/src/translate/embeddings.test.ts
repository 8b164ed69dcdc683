import { type EmbeddingsRequest, embeddingsRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import type { Adapter, AnswerReading, EmbeddingsResult } from '../adapter.ts';
import { loadAdapter } from '../load-adapter.ts';

const request = (body: object = {}): EmbeddingsRequest =>
  embeddingsRequestSchema.parse({ model: 'acme/embed', input: ['a', 'b'], ...body });
const target = { upstreamModel: 'embed-1', extraBody: {} };

function read(adapter: Adapter, body: object): AnswerReading<EmbeddingsResult> {
  const reader = adapter.openEmbeddings(request());
  reader.push(Buffer.from(JSON.stringify(body)));
  return reader.end();
}

const vectors = {
  cohere: (floats: readonly number[][]) => ({
    embeddings: { float: floats },
    meta: { billed_units: { input_tokens: 10 } },
  }),
  google: (floats: readonly number[][]) => ({
    embeddings: floats.map((values) => ({ values })),
    usageMetadata: { promptTokenCount: 10 },
  }),
};

describe.each(['cohere', 'google'] as const)('embeddings of %s', (api) => {
  it('are asked for as the vendor documents it', async () => {
    const asked = (await loadAdapter(api)).embeddingsRequest(request({ dimensions: 256, user: 'u' }), target);
    if ('unsupported' in asked) throw new Error(asked.unsupported);
    expect({ path: asked.path, body: JSON.parse(asked.body) }).toEqual(
      api === 'cohere'
        ? {
            path: '/embed',
            body: {
              model: 'embed-1',
              texts: ['a', 'b'],
              input_type: 'search_document',
              embedding_types: ['float'],
              output_dimension: 256,
            },
          }
        : {
            path: '/models/embed-1:batchEmbedContents',
            body: {
              requests: ['a', 'b'].map((text) => ({
                model: 'models/embed-1',
                content: { parts: [{ text }] },
                outputDimensionality: 256,
              })),
            },
          },
    );
  });

  it('come in order, without a loss, and with their usage', async () => {
    const floats = [
      [0.03302002, -1e-7],
      [0.1, 2],
    ];
    const reading = read(await loadAdapter(api), vectors[api](floats));
    if (!reading.ok) throw new Error(reading.outcome);
    const written = reading.answer.vectors.map((json) => Buffer.concat(json).toString());
    expect(written).toEqual(floats.map((vector) => JSON.stringify(vector)));
    expect(reading.reported?.usage).toMatchObject({ promptTokens: 10, completionTokens: 0 });
  });

  it('are malformed where there are not as many as texts', async () => {
    const adapter = await loadAdapter(api);
    for (const body of [vectors[api]([[1]]), vectors[api]([[1], []]), {}, { embeddings: 'x' }]) {
      expect(read(adapter, body)).toEqual({ ok: false, outcome: 'malformed_answer' });
    }
  });

  it.each([
    ['token arrays', { input: [[1, 2], [3]] }],
    ['one token array', { input: [1, 2] }],
    ['more texts than a call takes', { input: Array.from({ length: 101 }, () => 'x') }],
  ])('of %s are refused, and what would be right is said', async (_, body) => {
    const asked = (await loadAdapter(api)).embeddingsRequest(request(body), target);
    expect(asked).toMatchObject({ param: 'input', unsupported: expect.stringContaining('`input` must be') });
  });
});

it.each(['anthropic', 'bedrock'] as const)('%s has none, and says so', async (api) => {
  const adapter = await loadAdapter(api);
  expect(adapter.embeddingsRequest(request(), target)).toMatchObject({
    param: 'model',
    unsupported: expect.any(String),
  });
});
