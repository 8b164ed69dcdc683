import { beforeAll, describe, expect, it } from 'vitest';
import { describeInBothPlanes } from '../kit/both-planes.ts';
import { ask, type Called, type Flow } from '../kit/call.ts';
import { type ProviderHandler, startProvider } from '../kit/provider.ts';
import type { TestAccount } from '../kit/service.ts';
import { openAiRecordings, providersOwnNames, type Said, saidInStream, saidWhole } from './recordings.ts';

const recordings = openAiRecordings();
const messages = [{ role: 'user', content: 'go on' }];

/** How a stream is written: an event a write, or all its bytes cut at random places. */
type Regime = 'an event a write' | 'random bytes';
let regime: Regime = 'an event a write';

/** Answers with the recording that the upstream model names. */
const replaying: ProviderHandler = async ({ body }, response) => {
  const recording = recordings.find(({ name }) => name === body.model);
  if (recording === undefined) throw new Error(`no recording ${body.model}`);
  if (body.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json', 'x-provider': 'LEAK' });
    response.end(recording.whole);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-provider': 'LEAK' });
  const frames = [...(recording.events ?? []), '[DONE]'].map((payload) => Buffer.from(`data: ${payload}\n\n`));
  const pieces = regime === 'an event a write' ? frames : cutAtRandom(Buffer.concat(frames));
  for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve));
  response.end();
};

/** The same places in every run: a failure must come back. */
function* cutAtRandom(bytes: Buffer): Generator<Buffer> {
  let state = 7;
  for (let at = 0; at < bytes.length; ) {
    state = (state * 48_271) % 2_147_483_647;
    const end = at + 1 + (state % 400);
    yield bytes.subarray(at, end);
    at = end;
  }
}

const price = { input: 0.5, output: 1.5, cached_input: 0.05 };

/** USD, summed exactly and rounded up once to a nano-dollar. */
function costOf(usage: Said['usage']): number {
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0, total_tokens: total } = usage;
  const cached = usage['prompt_tokens_details.cached_tokens'] ?? 0;
  const reasoning = usage['completion_tokens_details.reasoning_tokens'] ?? 0;
  // Where the total says that reasoning was not among the completion tokens it is paid for as such.
  const produced = total === prompt + completion + reasoning ? completion + reasoning : completion;
  const picoUsd =
    (prompt - cached) * price.input * 1e6 + cached * price.cached_input * 1e6 + produced * price.output * 1e6;
  return Math.ceil(Math.round(picoUsd) / 1000) / 1e9;
}

const route = (upstream_model: string): object => ({
  provider: 'tape',
  upstream_model,
  privacy_class: 'private',
  pricing: price,
  capabilities: { tools: true, reasoning: { efforts: ['low'], can_disable: true } },
});

await describeInBothPlanes(
  'a recorded answer',
  async () => {
    const provider = await startProvider(replaying);
    const models = recordings.map(({ name }) => ({
      id: `lab/${name}`,
      model_type: 'text',
      context_length: 131_072,
      max_output_tokens: 16_384,
      routes: [route(name)],
    }));
    return {
      // JSON is YAML.
      registry: JSON.stringify({
        providers: [
          { id: 'tape', name: 'Tape', adapter: 'openai', base_url: provider.baseUrl, privacy_class: 'private' },
        ],
      }),
      catalog: JSON.stringify({ models }),
      stop: () => provider.stop(),
    };
  },
  (planes) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await planes.service.createAccount();
    });

    const request = (flow: Flow, name: string, more: object = {}): Promise<Called> =>
      ask(planes.service, account.inferenceKey, flow, { model: `lab/${name}`, messages, ...more });

    describe.each(['compat', 'ticket'] as const)('in the %s flow', (flow) => {
      it.each(recordings)('$name arrives unchanged as a whole', async (recording) => {
        const answer = await request(flow, recording.name);
        const said = saidWhole(recording.whole);
        expect(answer).toMatchObject({ status: 200, complete: true });
        expect(saidWhole(answer.text)).toEqual(said);
        const body = JSON.parse(answer.text);
        expect(body).toMatchObject({ id: expect.stringMatching(/^chatcmpl-/), model: `lab/${recording.name}` });
        expect(body.usage.cost).toBe(costOf(said.usage));
        expectNothingOf(answer, providersOwnNames(recording));
      });

      describe.each<Regime>(['an event a write', 'random bytes'])('and a stream, written %s,', (how) => {
        it.each(recordings.filter(({ events }) => events !== undefined))(
          '$name arrives unchanged',
          async (recording) => {
            regime = how;
            const answer = await request(flow, recording.name, {
              stream: true,
              stream_options: { include_usage: true },
            });
            expect(answer).toMatchObject({ status: 200, complete: true });
            const payloads = payloadsOf(answer.text);
            const said = saidInStream(recording.events ?? []);
            expect(saidInStream(payloads)).toEqual(said);
            const chunks = payloads.map((payload) => JSON.parse(payload));
            const [first] = chunks;
            expect(first).toMatchObject({ id: expect.stringMatching(/^chatcmpl-/), model: `lab/${recording.name}` });
            for (const { id, model, created } of chunks) {
              expect({ id, model, created }).toEqual({ id: first.id, model: first.model, created: first.created });
            }
            expect(chunks.at(-1).usage.cost).toBe(costOf(said.usage));
            expectNothingOf(answer, providersOwnNames(recording));
          },
        );
      });

      it('shows usage in a stream only to who asked for it', async () => {
        const answer = await request(flow, 'own-text', { stream: true });
        expect(answer.complete).toBe(true);
        expect(answer.text).not.toContain('usage');
      });

      it('leaves reasoning out where that was asked for, and nothing else', async () => {
        const hide = { tape_parameters: { strip_thinking_response: true } };
        const said = {
          ...saidWhole(recordings.find(({ name }) => name === 'own-thinking')?.whole ?? ''),
          reasoning: '',
        };
        const whole = await request(flow, 'own-thinking', hide);
        expect(saidWhole(whole.text)).toEqual(said);
        const options = { stream: true, stream_options: { include_usage: true } };
        const stream = await request(flow, 'own-thinking', { ...hide, ...options });
        expect(saidInStream(payloadsOf(stream.text))).toEqual(said);
        for (const { text } of [whole, stream]) expect(text).not.toContain('twelve');
      });
    });

    it('is charged to the nano-dollar what the answers said they cost', async () => {
      const fresh = await planes.service.createAccount();
      let cost = 0;
      for (const { name } of recordings) {
        const body = { model: `lab/${name}`, messages };
        const answer = await ask(planes.service, fresh.inferenceKey, 'compat', body);
        cost += Math.round(JSON.parse(answer.text).usage.cost * 1e9);
      }
      expect(await planes.service.settled(fresh)).toBe(10_000_000_000n - BigInt(cost));
    });
  },
);

/** The payloads of a stream, framed as strictly as the strictest client reads, without the terminator. */
function payloadsOf(stream: string): string[] {
  const frames = stream.split('\n\n');
  expect(frames.splice(-2)).toEqual(['data: [DONE]', '']);
  for (const frame of frames) expect(frame).toMatch(/^data: \{[^\r\n]*\}$/);
  return frames.map((frame) => frame.slice('data: '.length));
}

function expectNothingOf({ text, headers }: Called, names: readonly string[]): void {
  const everything = `${JSON.stringify(headers)}${text}`;
  expect(names.length).toBeGreaterThan(1);
  for (const name of [...names, 'LEAK', 'system_fingerprint', 'x_groq', 'cost_in_usd_ticks']) {
    expect(everything).not.toContain(name);
  }
}
