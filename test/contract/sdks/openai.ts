import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import {
  answerCost,
  breakOff,
  type ClientWorld,
  cities,
  countAsked,
  embeddingModel,
  chatModel as model,
  openAiClients,
  runnableWeather,
  toolsSaid,
  usage,
  vectorOf,
  weather,
} from './world.ts';

const messages = [{ role: 'user' as const, content: 'héllo "you"' }];
const tools = [{ type: 'function' as const, function: weather }];

/** Tests the `openai` SDK, in both flows. */
export function openAiSuite(world: ClientWorld): void {
  const clients = openAiClients(world);

  describe.each(Object.entries(clients))('openai, in %s', (_, connect) => {
    it('chats', async () => {
      const answer = await connect().chat.completions.create({ model, messages, max_completion_tokens: 50 });
      expect(answer).toMatchObject({
        id: expect.stringMatching(/^chatcmpl-/),
        object: 'chat.completion',
        model,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'You said: héllo "you"', refusal: null },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage: { ...usage, cost: answerCost },
      });
      expect(answer._request_id).toMatch(/\S/);
      expect(world.provider.seen.at(-1)?.body).toMatchObject({ model: 'small-v1', messages, max_tokens: 50 });
    });

    it('streams', async () => {
      const options = { stream: true, stream_options: { include_usage: true } } as const;
      const stream = await connect().chat.completions.create({ model, messages, ...options });
      let text = '';
      let cost: unknown;
      for await (const chunk of stream) {
        expect(chunk).toMatchObject({
          model,
          id: expect.stringMatching(/^chatcmpl-/),
          object: 'chat.completion.chunk',
        });
        text += chunk.choices[0]?.delta.content ?? '';
        if (chunk.usage) ({ cost } = chunk.usage as unknown as { cost: number });
      }
      expect(text).toBe('You said: héllo "you"');
      expect(cost).toBe(answerCost);
    });

    it('reports a stream that breaks off', async () => {
      const asked = { model, messages: [{ role: 'user' as const, content: breakOff }], stream: true as const };
      await expect(
        (async () => {
          for await (const chunk of await connect().chat.completions.create(asked)) void chunk;
        })(),
      ).rejects.toThrow();
    });

    it('streams with its helper, which checks that the stream is whole', async () => {
      const stream = connect().chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
      const final = await stream.finalChatCompletion();
      expect(final.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'You said: héllo "you"' } });
      expect(await stream.totalUsage()).toMatchObject({ prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 });
    });

    it('runs a tool loop to its answer, whole and streamed', async () => {
      const { completions } = connect().chat;
      const asked: string[] = [];
      const question = { model, messages, tools: [runnableWeather(asked)] };
      for (const run of [
        () => completions.runTools(question),
        () => completions.runTools({ ...question, stream: true }),
      ]) {
        expect(await run().finalContent()).toBe(toolsSaid('sun'));
        expect(asked.splice(0)).toEqual(cities);
        const sent = world.provider.seen.at(-1)?.body.messages as { role: string; tool_calls?: { id: string }[] }[];
        expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
        expect(sent[1]?.tool_calls?.map(({ id }) => id)).toEqual(['call_0', 'call_1']);
      }
    });

    it('chooses and forbids tools', async () => {
      const choice = { type: 'function', function: { name: 'weather' } } as const;
      await connect().chat.completions.create({
        model,
        messages,
        tools,
        tool_choice: choice,
        parallel_tool_calls: false,
      });
      expect(world.provider.seen.at(-1)?.body).toMatchObject({
        tools,
        tool_choice: choice,
        parallel_tool_calls: false,
      });
    });

    it('asks for structured output', async () => {
      const schema = { type: 'object', properties: { city: { type: 'string' }, degrees: { type: 'number' } } };
      const format = { type: 'json_schema', json_schema: { name: 'weather', strict: true, schema } } as const;
      const answer = await connect().chat.completions.parse({ model, messages, response_format: format });
      expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({ city: 'Graz', degrees: 21 });
      expect(world.provider.seen.at(-1)?.body.response_format).toEqual(format);
    });

    it('embeds: base64 by default, which it decodes, and numbers', async () => {
      const input = ['a', 'b', 'c'];
      const client = connect();
      const byDefault = await client.embeddings.create({ model: embeddingModel, input });
      expect(world.provider.seen.at(-1)?.body.encoding_format).toBe('base64');
      const asNumbers = await client.embeddings.create({ model: embeddingModel, input, encoding_format: 'float' });
      for (const { data, model: named, usage: used } of [byDefault, asNumbers]) {
        expect(data.map(({ embedding }) => Array.from(embedding))).toEqual(input.map((_, index) => vectorOf(index)));
        expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
        expect(named).toBe(embeddingModel);
        expect(used).toMatchObject({ prompt_tokens: 12, total_tokens: 12 });
      }
      const text = await client.embeddings.create({ model: embeddingModel, input, encoding_format: 'base64' });
      expect(typeof text.data[0]?.embedding).toBe('string');
    });

    it('leaves a stream, and the provider’s connection is closed', async () => {
      const stream = await connect().chat.completions.create({
        model,
        messages: [{ role: 'user', content: 'forever' }],
        stream: true,
      });
      let text = '';
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        if (text.length > 100) break;
      }
      expect(text).toMatch(/^(on and )+/);
      await world.provider.seen.at(-1)?.closed;
    });

    it('cancels by a signal', async () => {
      const leaving = new AbortController();
      const stream = await connect().chat.completions.create(
        { model, messages: [{ role: 'user', content: 'forever' }], stream: true },
        { signal: leaving.signal },
      );
      for await (const _ of stream) leaving.abort();
      expect(stream.controller.signal.aborted).toBe(true);
      await world.provider.seen.at(-1)?.closed;
    });
  });

  describe('errors of openai', () => {
    const connect = clients['compatibility mode'];
    const chat = (client: OpenAI, content = 'hi', more: object = {}) =>
      client.chat.completions.create({ model, messages: [{ role: 'user', content }], ...more });
    const failure = async (answer: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
      const error = await answer.catch((thrown: unknown) => thrown);
      if (!(error instanceof OpenAI.APIError)) throw new Error('it did not fail, or otherwise');
      expect(error.message).not.toContain('RAW-PROVIDER-ERROR');
      if (!error.requestID) throw new Error('it names no request', { cause: error });
      return error;
    };
    const asked = countAsked(world);

    it('throws an AuthenticationError for a bad key', async () => {
      const error = await failure(chat(connect({ apiKey: 'sotto_inf_nobody' })));
      expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
      expect(error).toMatchObject({ status: 401, type: 'invalid_api_key', code: 'invalid_api_key', param: null });
      expect(await failure(connect({ apiKey: 'sk-nobody' }).models.list())).toBeInstanceOf(OpenAI.AuthenticationError);
    });

    it('throws a PermissionDeniedError for a key of another kind', async () => {
      const error = await failure(chat(connect({ apiKey: world.managementKey })));
      expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError);
      expect(error).toMatchObject({ status: 403, type: 'insufficient_scope' });
    });

    it('throws a NotFoundError for an unknown model, whole and streamed', async () => {
      for (const stream of [false, true]) {
        const error = await failure(chat(connect(), 'hi', { model: 'acme/nothing', stream }));
        expect(error).toBeInstanceOf(OpenAI.NotFoundError);
        expect(error).toMatchObject({ status: 404, type: 'model_not_found' });
      }
    });

    it('throws a BadRequestError that names the field', async () => {
      const error = await failure(chat(connect(), 'hi', { temperature: 7 }));
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({ status: 400, type: 'invalid_request', param: 'temperature' });
    });

    it('throws a RateLimitError with the time to wait', async () => {
      const count = await asked(async () => {
        const error = await failure(chat(connect(), 'fail 429'));
        expect(error).toBeInstanceOf(OpenAI.RateLimitError);
        expect(error).toMatchObject({ status: 429, type: 'rate_limited' });
        expect(error.headers?.get('retry-after')).toBe('1');
      });
      expect(count).toBe(1);
    });

    it('retries a rate limit by itself, after that time', async () => {
      const startedAt = performance.now();
      expect(await asked(() => failure(chat(connect({ maxRetries: 1 }), 'fail 429')))).toBe(2);
      expect(performance.now() - startedAt).toBeGreaterThan(990);
    });

    it('never retries a request that may have been charged', async () => {
      const count = await asked(async () => {
        const error = await failure(chat(connect({ maxRetries: 3 }), breakOff));
        expect(error).toBeInstanceOf(OpenAI.InternalServerError);
        expect(error).toMatchObject({ status: 502, type: 'provider_error' });
        expect(error.headers?.get('x-should-retry')).toBe('false');
      });
      expect(count).toBe(1);
    });

    it.each([500, 503])('retries a provider’s %d, which charges nothing', async (status) => {
      expect(await asked(() => failure(chat(connect({ maxRetries: 1 }), `fail ${status}`)))).toBe(2);
    });

    it.each([401, 402, 404])('does not retry a provider’s %d, which only the operator can mend', async (status) => {
      expect(await asked(() => failure(chat(connect({ maxRetries: 1 }), `fail ${status}`)))).toBe(1);
    });

    it('lists the models', async () => {
      const ids: string[] = [];
      for await (const { id, object } of connect().models.list()) {
        ids.push(id);
        expect(object).toBe('model');
      }
      expect(ids).toEqual(expect.arrayContaining([model, embeddingModel, '/auto']));
    });
  });
}
