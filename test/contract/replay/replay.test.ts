import { readBill, readPrices, verifyCharge } from '@sotto/client/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, allOf } from '../../kit/answer.ts';
import { costOf } from '../../kit/books.ts';
import { ask, type Flow } from '../../kit/client.ts';
import { anthropicDialect } from '../../kit/dialects/anthropic.ts';
import { bedrockDialect } from '../../kit/dialects/bedrock.ts';
import type { Dialect } from '../../kit/dialects/dialect.ts';
import { googleDialect } from '../../kit/dialects/google.ts';
import { openAiDialect } from '../../kit/dialects/openai.ts';
import type { ProviderHandler } from '../../kit/provider.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import type { ModelSpec } from '../../kit/stage/spec.ts';
import {
  comparable,
  embeddingRecordings,
  framesOf,
  providersOwnNames,
  type RecordedApi,
  type Recording,
  recordings,
  saidOf,
} from './recordings.ts';
import { type Said, saidReaders } from './said.ts';

const tapes = recordings();
const embeddingTapes = embeddingRecordings();
/** Uses the position, because some recordings are named after the provider's model, which must not leak. */
const modelOf = (tape: string): string => `lab/tape-${tapes.findIndex(({ name }) => name === tape)}`;

const dialects: Readonly<Record<RecordedApi, Dialect>> = {
  openai: openAiDialect,
  anthropic: anthropicDialect,
  google: googleDialect,
  bedrock: bedrockDialect,
};
/**
 * As long as the longest recorded prompt, because the broker rejects a token count above the number of bytes that it
 * sent.
 */
const messages = [{ role: 'user', content: 'go on '.repeat(1000) }];

/** How a stream is written: one event per write, or all its bytes cut at random places. */
type Regime = 'an event a write' | 'random bytes';
let regime: Regime = 'an event a write';

/** Answers with the recording that the upstream model names. */
const replaying =
  (dialect: Dialect): ProviderHandler =>
  async (request, response) => {
    const { model, stream } = dialect.asked(request);
    const recording = tapes.find(({ name }) => name === model);
    if (recording === undefined) throw new Error(`no recording ${model}`);
    response.writeHead(200, { 'content-type': stream ? dialect.streamType : 'application/json', 'x-provider': 'LEAK' });
    if (!stream) {
      response.end(recording.whole);
      return;
    }
    const frames = framesOf(recording);
    const pieces = regime === 'an event a write' ? frames : cutAtRandom(Buffer.concat(frames));
    for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve));
    response.end();
  };

/** Cuts at the same places in every run, so that a failure can be reproduced. */
function* cutAtRandom(bytes: Buffer): Generator<Buffer> {
  let state = 7;
  for (let at = 0; at < bytes.length; ) {
    state = (state * 48_271) % 2_147_483_647;
    const end = at + 1 + (state % 400);
    yield bytes.subarray(at, end);
    at = end;
  }
}

const price = { input: 0.5, output: 1.5, cached_input: 0.05, cache_write: 0.625 };

/** Returns the cost in USD. */
function usdOf(usage: Said['usage']): number {
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = usage;
  const cached = usage['prompt_tokens_details.cached_tokens'] ?? 0;
  const written = usage['prompt_tokens_details.cache_write_tokens'] ?? 0;
  return Number(costOf({ prompt, completion, cached, written }, price)) / 1e9;
}

/**
 * Runs `sotto verify-bill` on an answer. Usage does not show cache writes, so a charge with some gets the verdict
 * `within`.
 */
function expectBillHolds(id: string, usage: object): void {
  const bill = readBill(JSON.stringify({ id: 'answer', model: id, usage }));
  const prices = readPrices({ data: [{ id, provider_routes: [{ provider: 'tape', pricing: price }] }] });
  if (typeof bill === 'string' || prices === undefined) throw new Error(`not a bill, or no prices: ${bill}`);
  for (const charge of bill.charges) expect(['exact', 'within']).toContain(verifyCharge(charge, prices.prices).result);
}

const modelTaped = ({ name: upstream, api }: Recording): ModelSpec => {
  const capabilities = { tools: true, reasoning: { efforts: ['low'], can_disable: true } };
  const routes = { [`tape-${api}`]: { upstream, pricing: price, capabilities } };
  return { routes, context_length: 131_072, max_output_tokens: 16_384 };
};

await describeStage(
  'a recorded answer',
  {
    providers: {
      'tape-cohere': {
        dialect: { adapter: 'cohere', basePath: '/v2' },
        answers({ path, body }, response) {
          const tape = embeddingTapes.find(({ name }) => path === '/v2/embed' && name === body.model);
          const headers = { 'content-type': 'application/json', 'x-provider': 'LEAK' };
          response.writeHead(tape === undefined ? 404 : 200, headers);
          response.end(tape?.body);
        },
      },
      ...Object.fromEntries(
        Object.entries(dialects).map(([api, dialect]) => [`tape-${api}`, { dialect, answers: replaying(dialect) }]),
      ),
    },
    models: {
      ...Object.fromEntries(tapes.map((recording) => [modelOf(recording.name), modelTaped(recording)])),
      ...Object.fromEntries(
        embeddingTapes.map(({ name }) => [
          `embed/${name}`,
          {
            type: 'embedding',
            context_length: 512,
            routes: { 'tape-cohere': { upstream: name, pricing: { input: 0.5 } } },
          },
        ]),
      ),
    },
  },
  (stage) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await stage.service.createAccount();
    });

    const request = (flow: Flow, name: string, more: object = {}): Promise<Answer> =>
      ask(stage.service, account.inferenceKey, { model: modelOf(name), messages, ...more }, { flow });

    describe.each(['compatibility', 'ticket'] as const)('in the %s flow', (flow) => {
      it.each(tapes.filter(({ whole }) => whole !== undefined))(
        '$name arrives unchanged as a whole',
        async (recording) => {
          const answer = await request(flow, recording.name);
          const said = saidOf(recording, 'whole');
          expect(answer).toMatchObject({ status: 200, complete: true });
          expect(comparable(recording, saidReaders.openai.whole(answer.text))).toEqual(comparable(recording, said));
          const body = JSON.parse(answer.text);
          expect(body).toMatchObject({ id: expect.stringMatching(/^chatcmpl-/), model: modelOf(recording.name) });
          expect(body.usage.cost).toBe(usdOf(said.usage));
          expectBillHolds(body.model, body.usage);
          expectNothingOf(answer, providersOwnNames(recording));
        },
      );

      describe.each<Regime>(['an event a write', 'random bytes'])('and a stream, written %s,', (how) => {
        it.each(tapes.filter(({ events }) => events !== undefined))('$name arrives unchanged', async (recording) => {
          regime = how;
          const answer = await request(flow, recording.name, {
            stream: true,
            stream_options: { include_usage: true },
          });
          expect(answer).toMatchObject({ status: 200, complete: true });
          const payloads = payloadsOf(answer.text);
          const said = saidOf(recording, 'stream');
          expect(comparable(recording, saidReaders.openai.stream(payloads))).toEqual(comparable(recording, said));
          const chunks = payloads.map((payload) => JSON.parse(payload));
          const [first] = chunks;
          expect(first).toMatchObject({ id: expect.stringMatching(/^chatcmpl-/), model: modelOf(recording.name) });
          for (const { id, model, created } of chunks) {
            expect({ id, model, created }).toEqual({ id: first.id, model: first.model, created: first.created });
          }
          expect(chunks.at(-1).usage.cost).toBe(usdOf(said.usage));
          expectBillHolds(first.model, chunks.at(-1).usage);
          expectNothingOf(answer, providersOwnNames(recording));
        });
      });

      it.each(embeddingTapes)('the vectors of $name arrive unchanged', async ({ name, body }) => {
        const recorded = JSON.parse(body) as {
          id: string;
          texts: string[];
          embeddings: { float: number[][] };
          meta: { billed_units: { input_tokens: number } };
        };
        const request = { model: `embed/${name}`, input: recorded.texts };
        const answer = await ask(stage.service, account.inferenceKey, request, { flow, path: '/embeddings' });
        expect(answer.status, answer.text).toBe(200);
        const tokens = recorded.meta.billed_units.input_tokens;
        expect(JSON.parse(answer.text)).toMatchObject({
          model: `embed/${name}`,
          data: recorded.embeddings.float.map((embedding, index) => ({ index, embedding })),
          usage: { prompt_tokens: tokens, total_tokens: tokens, cost: (tokens * price.input) / 1e6 },
        });
        expectNothingOf(answer, [recorded.id]);
      });

      it('has usage in a stream only if the client asked for it', async () => {
        const answer = await request(flow, 'own-text', { stream: true });
        expect(answer.complete).toBe(true);
        expect(answer.text).not.toContain('usage');
      });

      it('has no reasoning if the client asked to hide it, and is otherwise complete', async () => {
        const hide = { 'tape-openai_parameters': { strip_thinking_response: true } };
        const thinking = tapes.find(({ name }) => name === 'own-thinking');
        if (thinking === undefined) throw new Error('there is no own-thinking');
        const said = { ...saidOf(thinking, 'whole'), reasoning: '' };
        const whole = await request(flow, 'own-thinking', hide);
        expect(saidReaders.openai.whole(whole.text)).toEqual(said);
        const options = { stream: true, stream_options: { include_usage: true } };
        const stream = await request(flow, 'own-thinking', { ...hide, ...options });
        expect(saidReaders.openai.stream(payloadsOf(stream.text))).toEqual(said);
        for (const { text } of [whole, stream]) expect(text).not.toContain('twelve');
      });
    });

    it('is charged to the nano-dollar by the usage in the answers', async () => {
      const fresh = await stage.service.createAccount();
      let cost = 0;
      for (const { name } of tapes.filter(({ whole }) => whole !== undefined)) {
        const body = { model: modelOf(name), messages };
        const answer = await ask(stage.service, fresh.inferenceKey, body);
        cost += Math.round(JSON.parse(answer.text).usage.cost * 1e9);
      }
      expect(await stage.service.settled(fresh)).toBe(10_000_000_000n - BigInt(cost));
    });
  },
);

/** Returns the payloads of a stream without the terminator. Checks the framing as strictly as the strictest client. */
function payloadsOf(stream: string): string[] {
  const frames = stream.split('\n\n');
  expect(frames.splice(-2)).toEqual(['data: [DONE]', '']);
  for (const frame of frames) expect(frame).toMatch(/^data: \{[^\r\n]*\}$/);
  return frames.map((frame) => frame.slice('data: '.length));
}

function expectNothingOf(answer: Answer, names: readonly string[]): void {
  const everything = allOf(answer);
  for (const name of [...names, 'LEAK', 'x_groq', 'cost_in_usd_ticks']) expect(everything).not.toContain(name);
  // Clients require the field, but the provider's own value would identify one of its systems.
  expect(everything).not.toMatch(/"system_fingerprint":(?!"")/);
}
