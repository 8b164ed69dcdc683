import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { AnswerCache } from './answer-cache.ts';
import { PublicAnswer, PublicAnswers } from './public-answer.ts';

const large = { data: Array.from({ length: 200 }, (_, at) => ({ id: `model-${at}` })) };

/** Serves one answer. Has been asked once, so that the answer is compressed for those who accept it. */
async function serving(answer: object, options = {}) {
  const app = Fastify();
  const prepared = new PublicAnswer(JSON.stringify(answer), options);
  app.get('/', (request, reply) => prepared.send(request, reply));
  const ask = (headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    app.inject({ method, url: '/', headers });
  const first = await ask({ 'accept-encoding': 'br' });
  return { ask, first };
}

describe('a public answer', () => {
  it('is compressed once it is asked for again, as the caller accepts it', async () => {
    const { ask, first } = await serving(large);
    expect(first.headers['content-encoding']).toBeUndefined();
    expect(first.json()).toEqual(large);
    const decoders = { br: brotliDecompressSync, gzip: gunzipSync } as const;
    for (const [accepted, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip;q=1.0, br;q=0', 'gzip'],
    ] as const) {
      const { headers, rawPayload } = await ask({ 'accept-encoding': accepted });
      expect(headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept-encoding' });
      expect(rawPayload.length).toBeLessThan(first.rawPayload.length / 2);
      expect(JSON.parse(decoders[encoding](rawPayload).toString())).toEqual(large);
    }
    for (const accepted of ['', 'identity', 'deflate', 'br;q=0.0, gzip;q=0']) {
      const { headers, rawPayload } = await ask({ 'accept-encoding': accepted });
      expect(headers['content-encoding']).toBeUndefined();
      expect(rawPayload).toEqual(first.rawPayload);
    }
  });

  it('is compressed for its first caller if it is made so', async () => {
    const { first } = await serving(large, { compressFirst: true });
    expect(first.headers['content-encoding']).toBe('br');
    expect(JSON.parse(brotliDecompressSync(first.rawPayload).toString())).toEqual(large);
  });

  it('is 304 for a caller that has it, whatever its compression, and a HEAD has no body', async () => {
    const { ask, first } = await serving(large);
    const tag = String(first.headers.etag);
    for (const known of [tag, `"other", ${tag}`, tag.slice(2), '*']) {
      const answer = await ask({ 'if-none-match': known, 'accept-encoding': 'br' });
      expect([answer.statusCode, answer.rawPayload.length, answer.headers.etag]).toEqual([304, 0, tag]);
    }
    expect((await ask({ 'if-none-match': '"other"' })).statusCode).toBe(200);
    const head = await ask({}, 'HEAD');
    expect([head.statusCode, head.rawPayload.length, head.headers.etag]).toEqual([200, 0, tag]);
    expect(Number(head.headers['content-length'])).toBe(first.rawPayload.length);
  });

  it('is not compressed if it is small', async () => {
    const { ask } = await serving({ ok: true });
    expect((await ask({ 'accept-encoding': 'br' })).headers['content-encoding']).toBeUndefined();
  });

  it('is prepared once for equal answers of a route', () => {
    const answers = new PublicAnswers();
    const first = answers.of('GET /v1/a', { value: 1 });
    expect(answers.of('GET /v1/a', { value: 1 })).toBe(first);
    expect(answers.of('GET /v1/b', { value: 1 })).not.toBe(first);
    expect(answers.of('GET /v1/a', { value: 2 })).not.toBe(first);
  });
});

describe('a cache of answers', () => {
  it('computes an answer once until its time is over or the catalog changes, and keeps few', () => {
    let now = 0;
    let computed = 0;
    const cache = new AnswerCache<{ readonly at: number }>({ keptMs: 100, most: 2, now: () => now });
    const [catalog, newer] = [{}, {}];
    const compute = () => {
      computed += 1;
      return { at: computed };
    };
    const ask = (question: string, about = catalog): number => cache.get(about, question, compute).at;
    expect([ask('a'), ask('a'), ask('b'), ask('a')]).toEqual([1, 1, 2, 1]);
    expect([ask('a', newer), ask('a', newer)]).toEqual([3, 3]);
    now = 100;
    expect([ask('a', newer), ask('b')]).toEqual([4, 5]);
    expect([ask('c'), ask('a', newer)]).toEqual([6, 7]);
  });
});
