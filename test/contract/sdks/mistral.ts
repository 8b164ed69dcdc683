import { HTTPClient, Mistral } from '@mistralai/mistralai';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { breakOff, type ClientWorld, cities, chatModel as model, privateFetchOf, toolsSaid, weather } from './world.ts';

const messages = [{ role: 'user' as const, content: 'hi there' }];
const tools = [{ type: 'function' as const, function: weather }];

/** Tests Mistral's own SDK with our URL, in both flows. The SDK checks every answer against its schema. */
export function mistralSuite(world: ClientWorld): void {
  // The SDK adds `/v1` itself.
  const shared = () => ({
    serverURL: new URL(world.service.baseUrl).origin,
    retryConfig: { strategy: 'none' as const },
  });
  const clients = {
    'compatibility mode': () => new Mistral({ ...shared(), apiKey: world.inferenceKey }),
    'the ticket flow': () =>
      new Mistral({
        ...shared(),
        apiKey: 'never-sent',
        httpClient: new HTTPClient({ fetcher: privateFetchOf(world) }),
      }),
  };

  describe.each(Object.entries(clients))('@mistralai/mistralai, in %s', (_, connect) => {
    it('chats', async () => {
      const answer = await connect().chat.complete({ model, messages, maxTokens: 50 });
      expect(answer.choices[0]).toMatchObject({ finishReason: 'stop', message: { content: 'You said: hi there' } });
      expect(answer.usage).toMatchObject({ promptTokens: 12, completionTokens: 34, totalTokens: 46 });
    });

    it('streams', async () => {
      let text = '';
      let finish: unknown;
      for await (const { data } of await connect().chat.stream({ model, messages })) {
        text += String(data.choices[0]?.delta.content ?? '');
        finish = data.choices[0]?.finishReason ?? finish;
      }
      expect(text).toBe('You said: hi there');
      expect(finish).toBe('stop');
    });

    it('reports a stream that breaks off', async () => {
      const stream = await connect().chat.stream({ model, messages: [{ role: 'user', content: breakOff }] });
      await expect(
        (async () => {
          for await (const event of stream) void event;
        })(),
      ).rejects.toThrow();
    });

    it('calls tools, and repeats their results', async () => {
      const answer = await connect().chat.complete({ model, messages, tools });
      const calls = answer.choices[0]?.message?.toolCalls ?? [];
      expect(calls.map((call) => JSON.parse(String(call.function.arguments)))).toEqual(
        cities.map((city) => ({ city })),
      );
      const results = calls.map(({ id = '', function: { name } }, index) => ({
        role: 'tool' as const,
        toolCallId: id,
        name,
        content: `wind in ${cities[index]}`,
      }));
      const turn = { role: 'assistant' as const, content: '', toolCalls: calls };
      const final = await connect().chat.complete({ model, messages: [...messages, turn, ...results], tools });
      expect(final.choices[0]?.message?.content).toBe(toolsSaid('wind'));
    });

    it('parses structured output', async () => {
      const responseFormat = z.object({ city: z.string(), degrees: z.number() });
      const answer = await connect().chat.parse({ model, messages, responseFormat });
      expect(answer.choices?.[0]?.message?.parsed).toEqual({ city: 'Graz', degrees: 21 });
    });

    it('fails with our status and message', async () => {
      const failed = connect().chat.complete({ model: 'acme/nothing', messages });
      await expect(failed).rejects.toMatchObject({ statusCode: 404, body: expect.stringContaining('model_not_found') });
    });
  });
}
