import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { ResponseCreateParamsNonStreaming, ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  breakOff,
  type ClientWorld,
  cities,
  countAsked,
  localProxy,
  chatModel as model,
  reasoningText,
  toolsSaid,
  weather,
  weatherSchema,
} from './world.ts';

const input = 'héllo "you"';
const tools = [{ type: 'function' as const, name: weather.name, parameters: weatherSchema, strict: true }];

/** Tests the Responses API of the `openai` SDK on the address that `sotto proxy` serves. */
export function openAiResponsesSuite(world: ClientWorld): void {
  describe('openai’s Responses, through the local proxy', () => {
    const proxy = localProxy(world, { rules: [], fallback: model });
    const connect = (more: object = {}): OpenAI =>
      new OpenAI({ baseURL: `${proxy.origin}/v1`, apiKey: 'never-sent', maxRetries: 0, ...more });
    const ask = (more: Partial<ResponseCreateParamsNonStreaming> = {}) =>
      connect().responses.create({ model, input, ...more });

    it('answers', async () => {
      const response = await ask({ instructions: 'Be brief.', max_output_tokens: 50, prompt_cache_key: 'thread-1' });
      expect(response).toMatchObject({
        id: expect.stringMatching(/^resp_/),
        status: 'completed',
        model,
        output_text: 'You said: héllo "you"',
        usage: {
          input_tokens: 12,
          input_tokens_details: { cached_tokens: 4 },
          output_tokens: 34,
          output_tokens_details: { reasoning_tokens: 5 },
          total_tokens: 46,
        },
      });
      expect(response._request_id).toMatch(/^req_/);
      const seen = world.provider.seen.at(-1);
      expect(seen?.body).toMatchObject({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: input },
        ],
        max_tokens: 50,
      });
      expect(JSON.stringify(seen)).not.toMatch(/never-sent|thread-1/);
    });

    it('reports a stream that breaks off', async () => {
      const stream = connect().responses.stream({ model, input: breakOff });
      await expect(stream.finalResponse()).rejects.toThrow();
    });

    it('streams with its helper, which puts the response together', async () => {
      const stream = connect().responses.stream({ model, input });
      let text = '';
      let next = 0;
      for await (const event of stream) {
        expect(event.sequence_number).toBe(next);
        next += 1;
        if (event.type === 'response.output_text.delta') text += event.delta;
      }
      expect(text).toBe('You said: héllo "you"');
      expect(await stream.finalResponse()).toMatchObject({ status: 'completed', output_text: text });
    });

    it('shows the reasoning of a model and gives it back to it', async () => {
      const first = await connect()
        .responses.stream({ model, input, reasoning: { effort: 'low' } })
        .finalResponse();
      expect(first.output[0]).toMatchObject({
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: reasoningText }],
        encrypted_content: expect.stringMatching(/^sotto\.1\./),
      });
      expect(world.provider.seen.at(-1)?.body.reasoning_effort).toBe('low');
      const output = first.output as ResponseInputItem[];
      await ask({ input: [{ role: 'user', content: 'a' }, ...output, { role: 'user', content: 'b' }] });
      expect(world.provider.seen.at(-1)?.body.messages).toMatchObject([
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'You said: héllo "you"' },
        { role: 'user', content: 'b' },
      ]);
    });

    it.each([false, true])('runs a tool loop to its answer, streamed: %s', async (isStreamed) => {
      const say = (items: ResponseInputItem[]) =>
        isStreamed
          ? connect().responses.stream({ model, input: items, tools }).finalResponse()
          : ask({ input: items, tools });
      const question: ResponseInputItem = { role: 'user', content: input };
      const first = await say([question]);
      const calls = first.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
      expect(calls.map((call) => JSON.parse(call.arguments) as object)).toEqual(cities.map((city) => ({ city })));
      const results = calls.map(
        ({ call_id }, index): ResponseInputItem => ({
          type: 'function_call_output',
          call_id,
          output: `sun in ${cities[index]}`,
        }),
      );
      const second = await say([question, ...(first.output as ResponseInputItem[]), ...results]);
      expect(second.output_text).toBe(toolsSaid('sun'));
    });

    it('asks for structured output', async () => {
      const format = zodTextFormat(z.object({ city: z.string(), degrees: z.number() }), 'weather');
      const response = await connect().responses.parse({ model, input, text: { format } });
      expect(response.output_parsed).toEqual({ city: 'Graz', degrees: 21 });
      expect(world.provider.seen.at(-1)?.body.response_format).toMatchObject({
        type: 'json_schema',
        json_schema: { name: 'weather', strict: true },
      });
    });

    it('asks the fallback for a name that the catalog does not have, in chat completions, too', async () => {
      expect((await ask({ model: 'gpt-5' })).model).toBe(model);
      const messages = [{ role: 'user' as const, content: 'hi' }];
      expect((await connect().chat.completions.create({ model: 'gpt-5', messages })).model).toBe(model);
    });

    it('answers a body of the Responses API with a chat completion where Cursor sends it', async () => {
      const body = { model, input: [{ role: 'user', content: 'hi' }], include: [], text: { verbosity: 'low' } };
      const answer = await connect().post<{ choices: object[] }>('/chat/completions', { body });
      expect(answer.choices[0]).toMatchObject({ message: { content: 'You said: hi' } });
    });

    it('leaves a stream, and the provider’s connection is closed', async () => {
      const stream = await connect().responses.create({ model, input: 'forever', stream: true });
      for await (const event of stream) if (event.type === 'response.output_text.delta') break;
      await world.provider.seen.at(-1)?.closed;
    });

    describe('errors', () => {
      const failure = async (more: object, client = connect()): Promise<InstanceType<typeof OpenAI.APIError>> => {
        const answer = client.responses.create({ model, input, ...more });
        const error: unknown = await answer.catch((thrown: unknown) => thrown);
        if (!(error instanceof OpenAI.APIError)) throw new Error('it did not fail, or otherwise');
        expect(error.message).not.toContain('RAW-PROVIDER-ERROR');
        return error;
      };
      const asked = countAsked(world);

      it('throws a BadRequestError for what needs a kept answer', async () => {
        const error = await failure({ previous_response_id: 'resp_1' });
        expect(error).toBeInstanceOf(OpenAI.BadRequestError);
        expect(error).toMatchObject({
          status: 400,
          code: 'previous_response_not_found',
          param: 'previous_response_id',
        });
      });

      it('throws a RateLimitError with the code that clients look for', async () => {
        const error = await failure({ input: 'fail 429' });
        expect(error).toBeInstanceOf(OpenAI.RateLimitError);
        expect(error).toMatchObject({ code: 'rate_limit_exceeded' });
        expect(error.headers?.get('retry-after')).toBe('1');
      });

      it.each([500, 503])('never retries a request that may have been charged: a provider’s %d', async (status) => {
        for (const stream of [false, true]) {
          const fail = () => failure({ input: `fail ${status}`, stream }, connect({ maxRetries: 3 }));
          expect(await asked(fail)).toBe(1);
        }
      });
    });
  });
}
