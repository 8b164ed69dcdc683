import type { ServerResponse } from 'node:http';
import { embeddingsAnswerSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { allOf } from '../../kit/answer.ts';
import { ask, flows, ticketHeader } from '../../kit/client.ts';
import { type Concept, upstreamModels } from '../../kit/conformance.ts';
import { expectCallersFault, expectError } from '../../kit/expect-error.ts';
import { post } from '../../kit/send.ts';

const model = 'acme/embed';

/** Tests embeddings as an OpenAI client requests them. */
export const embeddings: Concept = (suite) => {
  describe.each(flows)('embeddings, %s flow', (flow) => {
    const askFor = (body: object) =>
      ask(suite.service, suite.account.inferenceKey, { model, ...body }, { flow, path: '/embeddings' });

    it.each([
      ['a text', 'one', 1],
      ['texts', ['one', 'two', 'three'], 3],
      ['tokens', [15_339, 1917], 1],
      ['lists of tokens', [[15_339], [1917, 3]], 2],
    ])('vectors are returned for %s', async (_, input, count) => {
      const answer = await askFor({ input });
      expect(answer.status, answer.text).toBe(200);
      const { data, model: said } = embeddingsAnswerSchema.parse(answer.json);
      expect(said).toBe(model);
      expect(data).toEqual(
        Array.from({ length: count }, (_, index) => ({
          object: 'embedding',
          index,
          embedding: [0.1, -0.25, index],
        })),
      );
      expect(suite.lastSeen().path).toBe('/v1/embeddings');
      expect(suite.lastSeen().body).toMatchObject({ model: 'embed-1', input });
    });

    it('embeddings are metered like chat, with usage and cost', async () => {
      const answer = await askFor({ input: ['a', 'b'] });
      expect(answer.json).toMatchObject({ usage: { prompt_tokens: 8, total_tokens: 8, cost: 0.00000016 } });
    });

    it('the names that the provider uses do not leak, and unknown fields are not forwarded', async () => {
      const answer = await askFor({ input: 'a', canary: 'CANARY', metadata: { a: 'CANARY' } });
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().text).not.toContain('CANARY');
      for (const mark of upstreamModels) expect(allOf(answer)).not.toContain(mark);
    });

    it('dimensions and encoding_format reach the provider, but user does not', async () => {
      const parameters = { dimensions: 3, encoding_format: 'float' };
      const answer = await askFor({ input: 'a', ...parameters, user: 'end-user-7' });
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().body).toEqual({ model: 'embed-1', input: 'a', ...parameters });
    });

    it('dimensions that the provider does not support are a 4xx, not a vector of another length', async () => {
      expectError(await askFor({ input: 'a', dimensions: 64 }), 400, 'invalid_request');
    });

    it('vectors that exceed the size limit of one answer are a 4xx that says what to change', async () => {
      suite.provider('acme').answer((_request, response) => {
        const piece = '-0.0123456789012345,'.repeat(50_000);
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"data":[{"embedding":[');
        const more = (): void => {
          while (!response.destroyed && response.write(piece));
        };
        response.on('drain', more);
        more();
      });
      // This many vectors of the largest size that a model may return would fill an answer up to its limit.
      const answer = await askFor({ input: Array(16).fill('a') });
      expectError(answer, 400, 'invalid_request');
      expect(answer.text).toContain('base64');
    });

    it('numbers arrive byte for byte, and base64 arrives as the floats that it encodes', async () => {
      const written = '[0.1000000000000000055511151231257827,-0.0,1E-7]';
      const says = (embedding: string) => (_: unknown, response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(`{"data":[{"index":0,"embedding":${embedding}}],"usage":{"prompt_tokens":4,"total_tokens":4}}`);
      };
      suite.provider('acme').answer(says(written));
      expect((await askFor({ input: 'a' })).text).toContain(`"embedding":${written}`);
      const floats = Float32Array.of(0.1, -0, 1e-7);
      const base64 = Buffer.from(floats.buffer).toString('base64');
      expect((await askFor({ input: 'a', encoding_format: 'base64' })).text).toContain(`"embedding":"${base64}"`);
      suite.provider('acme').answer(says(`"${base64}"`));
      const { data } = embeddingsAnswerSchema.parse((await askFor({ input: 'a' })).json);
      expect(data[0]?.embedding).toEqual([...floats]);
    });

    it('an unknown model is 404 model_not_found', async () => {
      expectError(await askFor({ model: 'acme/nothing', input: 'a' }), 404, 'model_not_found');
    });
  });

  it('`dimensions` that cannot fit into one answer are rejected from the body alone, and the ticket stays valid', async () => {
    const { service, account } = suite;
    const { ticket } = await service.mintTicket(account.inferenceKey, { model });
    const embed = (body: object) => post(`${service.baseUrl}/embeddings`, { model, ...body }, ticketHeader(ticket));
    const refused = await embed({ input: Array(2048).fill('a'), dimensions: 4096 });
    expectError(refused, 400, 'invalid_request', 'input');
    expect(refused.text).toContain('Send at most 1489 inputs');
    expect(refused.headers.get('x-should-retry')).toBeNull();
    expect(suite.asked).toBe(0);
    const answer = await embed({ input: 'a' });
    expect(answer.status, answer.text).toBe(200);
  });

  describe('embeddings, wrong shapes', () => {
    it.each<[string, object]>([
      ['no input', {}],
      ['an empty list', { input: [] }],
      ['an input that is an object', { input: {} }],
      ['a mixed list', { input: ['a', 5] }],
      ['fractions for tokens', { input: [1.5] }],
      ['dimensions that are no number', { input: 'a', dimensions: 'many' }],
      ['an empty text', { input: ['a', ''] }],
      ['2049 texts', { input: Array(2049).fill('a') }],
      ['a million halves of tokens', { input: Array(1_000_000).fill(0.5) }],
      ['an unknown encoding', { input: 'a', encoding_format: 'hex' }],
    ])('%s is 400 invalid_request', async (_, body) => {
      const answer = await ask(suite.service, suite.account.inferenceKey, { model, ...body }, { path: '/embeddings' });
      expectError(answer, 400, 'invalid_request');
      expect(suite.asked).toBe(0);
    });

    it('a model of another kind is rejected', async () => {
      const key = suite.account.inferenceKey;
      expectCallersFault(await ask(suite.service, key, { model: 'acme/small', input: 'a' }, { path: '/embeddings' }));
      expectCallersFault(await ask(suite.service, key, { model }));
      expectCallersFault(await ask(suite.service, key, { model: 'beta/paint' }));
      expect(suite.asked).toBe(0);
    });
  });
};
