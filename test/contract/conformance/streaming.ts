import { chatCompletionSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { allOf, readStream } from '../../kit/answer.ts';
import { ask, flows } from '../../kit/client.ts';
import { type Concept, upstreamModels } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { answerChat, answerError } from '../../kit/provider.ts';
import * as sse from '../../kit/scenes/events.ts';
import { close } from '../../kit/scenes/misbehave.ts';

const model = 'acme/small';

/** Tests streamed chat completions. */
export const streaming: Concept = (suite) => {
  const key = (): string => suite.account.inferenceKey;

  describe.each(flows)('streams, %s flow', (flow) => {
    const askFor = (body: object) => ask(suite.service, key(), { model, stream: true, ...body }, { flow });

    it('data frames carry chunks, and `data: [DONE]` ends the stream', async () => {
      const answer = await askFor({});
      const { chunks, content, done } = readStream(answer);
      expect(content).toBe('Hello there, this is a provider.');
      expect(done).toBe(true);
      expect(answer.text.split('[DONE]')).toHaveLength(2);
      expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
      expect(chunks.filter(({ choices }) => choices[0]?.finish_reason === 'stop')).toHaveLength(1);
    });

    it('the last chunk has usage and cost if the request asks for them', async () => {
      const { chunks } = readStream(await askFor({ stream_options: { include_usage: true } }));
      const last = chunks.at(-1);
      expect(last?.choices).toEqual([]);
      expect(last?.usage).toMatchObject({
        prompt_tokens: 10,
        completion_tokens: 20,
        total_tokens: 30,
        cost: 0.000035,
      });
      expect(chunks.filter(({ usage }) => usage !== undefined)).toHaveLength(1);
    });

    it.each([
      ['absent', {}],
      ['false', { stream_options: { include_usage: false } }],
      ['an empty object', { stream_options: {} }],
    ])('no usage chunk when include_usage is %s, though the provider sent one', async (_, body) => {
      const answer = await askFor(body);
      const { chunks, done } = readStream(answer);
      expect(done).toBe(true);
      for (const chunk of chunks) {
        expect(chunk.usage).toBeUndefined();
        expect(chunk.choices).toHaveLength(1);
      }
      expect(answer.text).not.toContain('prompt_tokens');
      // The broker always requests usage from the provider, because it computes the charge from it.
      expect(suite.lastSeen().body.stream_options).toMatchObject({ include_usage: true });
    });

    it('every chunk has the canonical model and one id of ours; those of the provider do not leak', async () => {
      const answer = await askFor({ stream_options: { include_usage: true } });
      const { chunks } = readStream(answer);
      expect(new Set(chunks.map((chunk) => chunk.model))).toEqual(new Set([model]));
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
      expect(new Set(chunks.map(({ created }) => created)).size).toBe(1);
      const all = allOf(answer);
      for (const mark of ['provider-own-id', 'fp_secret', ...upstreamModels]) expect(all).not.toContain(mark);
    });

    it('`system_fingerprint` is empty in every chunk, as in a whole answer', async () => {
      const { chunks } = readStream(await askFor({ stream_options: { include_usage: true } }));
      expect(chunks.at(-1)?.usage).toBeDefined();
      const whole = await askFor({ stream: false });
      const answers: readonly { readonly system_fingerprint: string }[] = [
        chatCompletionSchema.parse(whole.json),
        ...chunks,
      ];
      expect(new Set(answers.map((answer) => answer.system_fingerprint))).toEqual(new Set(['']));
    });

    it('the canonical model is in every chunk of a long stream with odd envelopes', async () => {
      const pieces = Array.from({ length: 300 }, (_, index) => `word${index} `);
      suite.provider('acme').answer((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const [index, content] of pieces.entries()) {
          // The envelope changes within the stream, as it does behind a provider's own load balancer.
          const identity = { id: `own-${index % 7}`, model: `small-v1-${index % 3}`, system_fingerprint: 'fp_secret' };
          const choices = [{ index: 0, delta: { content }, finish_reason: null }];
          const chunk =
            index % 2 === 0
              ? { ...identity, object: 'chat.completion.chunk', created: index, choices }
              : { choices, created: index, object: 'chat.completion.chunk', ...identity };
          response.write(`data: ${JSON.stringify(chunk)}\n\n`);
        }
        response.end(
          `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
        );
      });
      const answer = await askFor({});
      const { chunks, content, done } = readStream(answer);
      expect({ content, done }).toEqual({ content: pieces.join(''), done: true });
      expect(new Set(chunks.map((chunk) => chunk.model))).toEqual(new Set([model]));
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
      for (const mark of ['own-', 'small-v1', 'fp_secret']) expect(answer.text).not.toContain(mark);
    });

    it('characters that are split between packets arrive whole', async () => {
      const content = 'Zażółć 🦜 日本語 “quoted” \\u0041 end';
      // Sends each byte in a packet of its own, as far as the kernel allows it.
      const bytes = [...Buffer.from(sse.text(content) + sse.finish + sse.done)].map((byte) => Buffer.of(byte));
      suite.provider('acme').answer(sse.stream(...bytes));
      expect(readStream(await askFor({}))).toMatchObject({ content, done: true });
    });

    it('an error before the stream begins is a status with the envelope, not an event', async () => {
      expectError(await askFor({ max_tokens: 1, max_completion_tokens: 2 }), 400, 'invalid_request');
      suite.provider('flaky').answer(answerError(400));
      const answer = await askFor({ model: 'flaky/chat' });
      expectError(answer, 400, 'invalid_request');
      expect(answer.text).not.toContain('RAW-PROVIDER-ERROR');
    });

    it('a failure after output is a last event with `error` alone, without [DONE], and the body has no end', async () => {
      suite.provider('flaky').answer(sse.streamThen(close, sse.text('one '), sse.text('two ')));
      const answer = await askFor({ model: 'flaky/chat' });
      expect(answer.status).toBe(200);
      const { chunks, done, content, error } = readStream(answer);
      expect({ done, content }).toEqual({ done: false, content: 'one two ' });
      expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual(chunks.map(() => null));
      expect(error).toEqual({
        message: expect.stringMatching(/\S/),
        type: 'provider_error',
        code: 'provider_error',
        param: null,
        request_id: expect.stringMatching(/\S/),
      });
      expect(answer.ended).toBe('broken');
    });

    it('each of many concurrent requests gets its own answer', async () => {
      suite.provider('acme').answer((request, response) => {
        const [{ content = '' } = {}] = request.body.messages as { content?: string }[];
        return answerChat({ content: `echo ${content}` })(request, response);
      });
      await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const stream = index % 2 === 0;
          const answer = await askFor({ stream, messages: [{ role: 'user', content: `number ${index}` }] });
          const text = stream
            ? readStream(answer).content
            : chatCompletionSchema.parse(answer.json).choices[0]?.message.content;
          expect(text).toBe(`echo number ${index}`);
        }),
      );
    });
  });
};
