import { initialPreferences } from '@sotto/wire';
import { beforeEach, describe, expect, it } from 'vitest';
import { answerFrom } from '../answer.ts';
import { ClientError } from '../errors.ts';
import type { AskedRequest } from '../private/private-exchange.ts';
import { WarmExchange } from './warm-exchange.ts';

const model = 'acme/coder';
const route = (provider: string) => ({ provider, privacy_class: 'private', capabilities: { tools: true } });
const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers });
const refusal = (type: string, status: number): Response => json({ error: { type } }, status);
const by = (provider: string, privacy = 'private') => ({
  ...{ 'x-router-provider': provider, 'x-router-privacy-class': privacy },
});

describe('a conversation by the warm exchange', () => {
  let seen: AskedRequest[];
  let now: number;
  let lists: number;
  let sort: string;
  let answer: (asked: AskedRequest) => Response | Promise<Response>;
  let warm: WarmExchange;
  beforeEach(() => {
    [seen, now, lists, sort] = [[], 0, 0, 'default'];
    answer = () => json({ choices: [] }, 200, by('acme'));
    let secrets = 0;
    warm = new WarmExchange({
      exchange: {
        async ask(asked) {
          if (asked.path === '/v1/models') {
            lists += 1;
            return answerFrom(json({ data: [{ id: model, provider_routes: ['acme', 'birch', 'other'].map(route) }] }));
          }
          seen.push(asked);
          return answerFrom(await answer(asked));
        },
      },
      readEffective: async () => json({ preferences: { ...initialPreferences, provider_sort: sort } }),
      now: () => now,
      newSecret: () => `secret ${++secrets}`,
    });
  });

  const asked = (more: object = {}, request: Partial<AskedRequest> = {}): AskedRequest => ({
    method: 'POST',
    path: '/v1/chat/completions',
    header: () => undefined,
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], ...more }),
    signal: new AbortController().signal,
    ...request,
  });
  const ask = async (more: object = {}, request: Partial<AskedRequest> = {}): Promise<Response> => {
    const { status, body, headers } = await warm.ask(asked(more, request));
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    return new Response(Buffer.concat(pieces), { status, headers: headers.map(([name, value]) => [name, value]) });
  };
  /** The policy of the last request. */
  const provider = (): unknown => (JSON.parse(seen.at(-1)?.body ?? '{}') as { provider?: unknown }).provider;
  const kept = { order: ['acme'], sort: 'privacy', minimum_privacy: 'private' };

  it('stays with the provider that served it, and another one does not', async () => {
    await ask();
    expect([provider(), lists]).toEqual([undefined, 1]);
    await ask();
    expect(provider()).toEqual(kept);
    await ask({ messages: [{ role: 'user', content: 'Something else' }] });
    expect(provider()).toBeUndefined();
  });

  it('passes on the digits of a request as they came', async () => {
    await ask();
    const body = `{"model":"${model}","messages":[{"role":"user","content":"Hello"}],"seed":12345678901234567890}`;
    await ask({}, { body });
    expect(seen.at(-1)?.body).toContain('"seed":12345678901234567890');
    expect(provider()).toEqual(kept);
  });

  it.each([{ models: ['acme/other'] }, { model: `${model}:floor` }, { model: '/auto' }, { model: 'acme/unlisted' }])(
    'leaves a request with %j as it is',
    async (more) => {
      await ask(more);
      await ask(more);
      expect(seen.map(({ body }) => body)).toEqual([asked(more).body, asked(more).body]);
    },
  );

  it('never asks for `other`, or for a provider whose class is not named', async () => {
    for (const headers of [by('other'), by('acme', 'secret'), by('Not an id'), {}]) {
      answer = () => json({}, 200, headers);
      await ask();
      await ask();
      expect(provider()).toBeUndefined();
    }
  });

  it('follows to the provider that served as a fallback: the failed one is forgotten', async () => {
    await ask();
    answer = () => json({}, 200, by('birch'));
    await ask();
    expect(provider()).toEqual(kept);
    await ask();
    expect(provider()).toEqual({ ...kept, order: ['birch'] });
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ['a refusal of the service or of all providers', () => refusal('provider_fallback_exhausted', 503)],
    ['too many requests', () => refusal('rate_limited', 429)],
    ['a lost answer', () => refusal('answer_lost', 424)],
    ['no connection', () => Promise.reject(new ClientError('confidential_unreachable'))],
    ['a stream without an end', () => stream('data: {"choices":[]}\n\n')],
    ['an error in a stream', () => stream('data: {"error":{"type":"provider_error"}}\n\ndata: [DONE]\n\n')],
    ['a stream that breaks', () => stream(new Error('reset'))],
  ])('forgets the provider after %s', async (_, failing) => {
    await ask();
    answer = failing;
    await ask().catch(() => undefined);
    expect(provider()).toEqual(kept);
    answer = () => json({}, 200, by('birch'));
    await ask();
    expect(provider()).toBeUndefined();
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ['a mistake of the caller', () => refusal('invalid_request', 400)],
    ['an empty balance', () => refusal('insufficient_balance', 402)],
    ['a whole stream', () => stream('data: {"choices":[]}\n\ndata: [DONE]\n\n')],
    [
      'a stream that speaks of errors',
      () => stream('data: {"choices":[{"delta":{"content":"an \\"error\\""}}]}\n\ndata: [DONE]\n\n'),
    ],
  ])('stays after %s', async (_, fine) => {
    await ask();
    answer = fine;
    await ask();
    await ask();
    expect(provider()).toEqual(kept);
  });

  it('stays if the caller left, which says nothing against the provider', async () => {
    await ask();
    const leaving = new AbortController();
    answer = () => {
      leaving.abort();
      throw leaving.signal.reason;
    };
    await expect(ask({}, { signal: leaving.signal })).rejects.toThrow();
    answer = () => json({}, 200, by('acme'));
    await ask();
    expect(provider()).toEqual(kept);
  });

  // The catalog can change within the five minutes. A request must not fail by a policy that its user did not write.
  it('asks again as the user wrote it if the service finds no route, and only then', async () => {
    await ask();
    answer = ({ body }) =>
      body.includes('"order"') ? refusal('no_provider_route_meets_privacy', 403) : json({}, 200, by('birch'));
    expect((await ask()).status).toBe(200);
    expect(seen.slice(1).map(({ body }) => body.includes('"order"'))).toEqual([true, false]);
    answer = () => refusal('context_too_large', 400);
    expect((await ask()).status).toBe(400);
    expect(seen).toHaveLength(4);
  });

  // A client retries what it gave up, which may have been charged. The exchange below knows it by what the tool sent.
  it('shows what the tool sent beside what is sent, with and without a policy', async () => {
    await ask();
    await ask();
    expect(seen.map(({ original }) => original)).toEqual([asked().body, asked().body]);
    expect(seen[1]?.body).not.toBe(seen[1]?.original);
  });

  it('gives each conversation a secret of its own, which no body has', async () => {
    await ask();
    await ask();
    await ask({ messages: [{ role: 'user', content: 'Something else' }] });
    expect(seen.map(({ cacheSecret }) => cacheSecret)).toEqual(['secret 1', 'secret 1', 'secret 2']);
    expect(JSON.stringify(seen.map(({ body }) => body))).not.toContain('secret');
  });

  it('reads the models and preferences once in five minutes', async () => {
    for (let turn = 0; turn < 4; turn += 1) await ask();
    expect(lists).toBe(1);
    [now, sort] = [5 * 60_000, 'latency'];
    await ask();
    expect([lists, provider()]).toEqual([2, { ...kept, sort: 'latency' }]);
  });

  it('changes nothing while they cannot be read', async () => {
    sort = 'a new one';
    for (let turn = 0; turn < 3; turn += 1) await ask();
    expect([lists, provider()]).toEqual([1, undefined]);
    [now, sort] = [30_000, 'price'];
    await ask();
    expect([lists, provider()]).toEqual([2, { ...kept, sort: 'price' }]);
  });

  it('passes on what is no chat', async () => {
    for (const request of [{ path: '/v1/embeddings' }, { body: 'no JSON' }]) {
      await ask({}, request);
      expect(seen.at(-1)).toEqual(
        asked({}, { ...request, header: seen.at(-1)?.header, signal: seen.at(-1)?.signal } as never),
      );
    }
  });
});

/** A streamed answer of `acme` with this text, or one that breaks. */
function stream(sent: string | Error): Response {
  const body = new ReadableStream({
    start(controller) {
      if (sent instanceof Error) return controller.error(sent);
      controller.enqueue(Buffer.from(sent));
      controller.close();
    },
  });
  return new Response(body, { headers: { ...by('acme'), 'content-type': 'text/event-stream; charset=utf-8' } });
}
