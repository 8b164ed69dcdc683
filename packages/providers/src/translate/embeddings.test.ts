import { type EmbeddingsRequest, embeddingsRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { loadAdapter } from '../load-adapter.ts';

const request = (body: object = {}): EmbeddingsRequest =>
  embeddingsRequestSchema.parse({ model: 'acme/embed', input: ['a', 'b'], ...body });
const target = { upstreamModel: 'embed-1', extraBody: {} };

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

async function read(api: 'cohere' | 'google', body: object) {
  const reader = (await loadAdapter(api)).openEmbeddings(request());
  reader.push(Buffer.from(JSON.stringify(body)));
  return reader.end();
}

describe.each(['cohere', 'google'] as const)('embeddings of %s', (api) => {
  it('are requested as the vendor documents', async () => {
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
              truncate: 'NONE',
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

  it('are read in order, exactly, and with their usage', async () => {
    const floats = [
      [0.99945468, -0.03302002],
      [-1e-7, 1],
    ];
    const reading = await read(api, vectors[api](floats));
    expect(reading).toMatchObject({ ok: true, reported: { usage: { promptTokens: 10, completionTokens: 0 } } });
    const texts = reading.ok ? reading.answer.vectors.map((json) => Buffer.concat(json).toString()) : [];
    expect(texts).toEqual(floats.map((vector) => JSON.stringify(vector)));
  });

  it('are scaled to length 1 if the vendor cuts them without scaling', async () => {
    const reading = await read(
      api,
      vectors[api]([
        [3, 4],
        [0, 0],
      ]),
    );
    const texts = reading.ok ? reading.answer.vectors.map((json) => Buffer.concat(json).toString()) : [];
    expect(texts).toEqual(api === 'google' ? ['[0.6,0.8]', '[0,0]'] : ['[3,4]', '[0,0]']);
  });

  it('are malformed if their number differs from the texts', async () => {
    for (const body of [vectors[api]([[1]]), vectors[api]([[1], []]), {}, { embeddings: 'x' }]) {
      expect(await read(api, body)).toEqual({ ok: false, outcome: 'malformed_answer' });
    }
  });

  it.each([
    ['token arrays', { input: [[1, 2], [3]] }],
    ['one token array', { input: [1, 2] }],
    ['more texts than a call takes', { input: Array.from({ length: 101 }, () => 'x') }],
  ])('of %s are refused with a message that says what is accepted', async (_, body) => {
    const asked = (await loadAdapter(api)).embeddingsRequest(request(body), target);
    expect(asked).toMatchObject({ param: 'input', unsupported: expect.stringContaining('`input` must be') });
  });
});

it.each(['anthropic', 'bedrock'] as const)('%s has no embeddings, and the message says so', async (api) => {
  const adapter = await loadAdapter(api);
  expect(adapter.embeddingsRequest(request(), target)).toMatchObject({
    param: 'model',
    unsupported: expect.any(String),
  });
});
