import Anthropic, { type APIError } from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
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

const messages = [{ role: 'user' as const, content: 'héllo "you"' }];
const tools = [{ name: weather.name, description: weather.description, input_schema: weatherSchema }];
const usage = { input_tokens: 8, cache_read_input_tokens: 4, cache_creation_input_tokens: 0, output_tokens: 34 };

/** Tests Anthropic's SDK on the address that `sotto proxy` serves. */
export function anthropicSuite(world: ClientWorld): void {
  describe('@anthropic-ai/sdk, through the local proxy', () => {
    const rules = [{ pattern: 'claude-*', model }];
    const proxy = localProxy(world, { rules, fallback: undefined });
    const connect = (more: object = {}): Anthropic =>
      new Anthropic({ baseURL: proxy.origin, apiKey: 'never-sent', maxRetries: 0, ...more });
    const ask = { model, messages, max_tokens: 100 };

    it('answers, and sends the provider neither key nor user', async () => {
      const answer = await connect().messages.create({ ...ask, metadata: { user_id: 'device-1' } });
      expect(answer).toMatchObject({
        id: expect.stringMatching(/^msg_/),
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text: 'You said: héllo "you"' }],
        stop_reason: 'end_turn',
        usage,
      });
      expect(answer._request_id).toMatch(/^req_/);
      const seen = world.provider.seen.at(-1);
      expect(seen?.body).toMatchObject({ model: 'small-v1', messages, max_tokens: 100 });
      expect(JSON.stringify(seen)).not.toMatch(/never-sent|device-1/);
    });

    it('reports a stream that breaks off', async () => {
      const stream = connect().messages.stream({ ...ask, messages: [{ role: 'user', content: breakOff }] });
      await expect(stream.finalMessage()).rejects.toThrow();
    });

    it('streams with its helper, which checks the order of the events', async () => {
      const stream = connect().messages.stream({ ...ask, system: [{ type: 'text', text: 'Be brief.' }] });
      const texts: string[] = [];
      stream.on('text', (text) => texts.push(text));
      const message = await stream.finalMessage();
      expect(texts.join('')).toBe('You said: héllo "you"');
      expect(texts.length).toBeGreaterThan(1);
      expect(message).toMatchObject({ stop_reason: 'end_turn', usage });
    });

    it('shows the thoughts of a model and gives them back to it', async () => {
      const thinking = { type: 'adaptive' as const };
      const first = await connect()
        .messages.stream({ ...ask, thinking, output_config: { effort: 'high' } })
        .finalMessage();
      expect(first.content[0]).toMatchObject({ type: 'thinking', thinking: reasoningText });
      expect(world.provider.seen.at(-1)?.body.reasoning_effort).toBe('low');
      const next = { role: 'user' as const, content: 'and?' };
      await connect().messages.create({
        ...ask,
        messages: [...messages, { role: 'assistant', content: first.content }, next],
      });
      expect(world.provider.seen.at(-1)?.body.messages).toMatchObject([
        messages[0],
        { role: 'assistant', content: 'You said: héllo "you"' },
        next,
      ]);
    });

    it.each([false, true])('runs a tool loop to its answer, streamed: %s', async (stream) => {
      const asked: string[] = [];
      const tool = betaZodTool({
        name: weather.name,
        description: weather.description,
        inputSchema: z.object({ city: z.string() }),
        run: ({ city }) => {
          asked.push(city);
          return `sun in ${city}`;
        },
      });
      const runner = connect().beta.messages.toolRunner({ ...ask, tools: [tool], stream });
      const { content } = await runner.runUntilDone();
      expect(content).toMatchObject([{ type: 'text', text: toolsSaid('sun') }]);
      expect(asked).toEqual(cities);
      const sent = world.provider.seen.at(-1)?.body.messages as { role: string; tool_calls?: { id: string }[] }[];
      expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
      expect(sent[1]?.tool_calls?.map(({ id }) => id)).toEqual(['call_0', 'call_1']);
    });

    it('chooses tools, and leaves out those that Anthropic would run', async () => {
      const hosted = { type: 'web_search_20250305' as const, name: 'web_search' as const };
      const tool_choice = { type: 'tool' as const, name: 'weather', disable_parallel_tool_use: true };
      await connect().messages.create({ ...ask, tools: [...tools, hosted], tool_choice });
      expect(world.provider.seen.at(-1)?.body).toMatchObject({
        tools: [{ type: 'function', function: { name: 'weather' } }],
        tool_choice: { type: 'function', function: { name: 'weather' } },
        parallel_tool_calls: false,
      });
      expect(proxy.notes).toContain('Left out tools that only Anthropic can run: web_search.');
    });

    it('asks for structured output', async () => {
      const format = zodOutputFormat(z.object({ city: z.string(), degrees: z.number() }));
      const answer = await connect().messages.parse({ ...ask, output_config: { format } });
      expect(answer.parsed_output).toEqual({ city: 'Graz', degrees: 21 });
      expect(world.provider.seen.at(-1)?.body.response_format).toMatchObject({ type: 'json_schema' });
    });

    it('asks the model that a name stands for', async () => {
      const answer = await connect().messages.create({ ...ask, model: 'claude-sonnet-4-6' });
      expect(answer.model).toBe(model);
    });

    it('counts tokens without asking anyone', async () => {
      const before = world.provider.seen.length;
      expect(await connect().messages.countTokens({ model, messages, tools })).toEqual({
        input_tokens: expect.any(Number),
      });
      expect(world.provider.seen).toHaveLength(before);
    });

    it('lists the models, under ids that requests may name', async () => {
      const listed: { id: string; display_name: string }[] = [];
      for await (const entry of connect().models.list()) listed.push(entry);
      const small = listed.find(({ id }) => id === `anthropic/${model}`);
      expect(small).toMatchObject({ type: 'model', display_name: expect.any(String) });
      expect(listed.map(({ id }) => id)).not.toContain('anthropic/acme/embed');
      const answer = await connect().messages.create({ ...ask, model: small?.id ?? '' });
      expect(answer.model).toBe(model);
    });

    it('leaves a stream, and the provider’s connection is closed', async () => {
      const stream = connect().messages.stream({ ...ask, messages: [{ role: 'user', content: 'forever' }] });
      for await (const event of stream) if (event.type === 'content_block_delta') break;
      await world.provider.seen.at(-1)?.closed;
    });

    describe('errors', () => {
      const failure = async (content: string, more: object = {}, client = connect()): Promise<APIError> => {
        const answer = client.messages.create({ ...ask, messages: [{ role: 'user', content }], ...more });
        const error: unknown = await answer.catch((thrown: unknown) => thrown);
        if (!(error instanceof Anthropic.APIError)) throw new Error('it did not fail, or otherwise');
        expect(error.message).not.toContain('RAW-PROVIDER-ERROR');
        expect(error.requestID).toMatch(/\S/);
        return error;
      };
      const asked = countAsked(world);

      it('throws a NotFoundError for an unknown model, whole and streamed', async () => {
        for (const stream of [false, true]) {
          const error = await failure('hi', { model: 'acme/nothing', stream });
          expect(error).toBeInstanceOf(Anthropic.NotFoundError);
          expect(error.type).toBe('not_found_error');
        }
      });

      it('throws a BadRequestError for a request that the service refuses', async () => {
        const error = await failure('hi', { temperature: 7 });
        expect(error).toBeInstanceOf(Anthropic.BadRequestError);
        expect(error.message).toMatch(/temperature/);
      });

      it('throws a RateLimitError with the time to wait, and retries after it', async () => {
        const error = await failure('fail 429');
        expect(error).toBeInstanceOf(Anthropic.RateLimitError);
        expect(error.headers?.get('retry-after')).toBe('1');
        expect(await asked(() => failure('fail 429', {}, connect({ maxRetries: 1 })))).toBe(2);
      });

      it.each([500, 503])('never retries a request that may have been charged: a provider’s %d', async (status) => {
        const patient = connect({ maxRetries: 3 });
        for (const stream of [false, true])
          expect(await asked(() => failure(`fail ${status}`, { stream }, patient))).toBe(1);
      });
    });
  });
}
