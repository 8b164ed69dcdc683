import { HTTPClient, OpenRouter } from '@openrouter/sdk';
import { describe, expect, it } from 'vitest';
import { breakOff, type ClientWorld, cities, chatModel as model, privateFetchOf, toolsSaid, weather } from './world.ts';

const messages = [{ role: 'user' as const, content: 'hi there' }];
const tools = [{ type: 'function' as const, function: weather }];

/** Tests OpenRouter's own SDK with our URL, in both flows. The SDK checks every answer against its schema. */
export function openRouterSuite(world: ClientWorld): void {
  const shared = () => ({ serverURL: world.service.baseUrl, retryConfig: { strategy: 'none' as const } });
  const clients = {
    'compatibility mode': () => new OpenRouter({ ...shared(), apiKey: world.inferenceKey }),
    'the ticket flow': () =>
      new OpenRouter({
        ...shared(),
        apiKey: 'never-sent',
        httpClient: new HTTPClient({ fetcher: privateFetchOf(world) }),
      }),
  };

  describe.each(Object.entries(clients))('@openrouter/sdk, in %s', (_, connect) => {
    it('chats', async () => {
      const answer = await connect().chat.send({ chatRequest: { model, messages, stream: false } });
      if (!('choices' in answer)) throw new Error('a stream came');
      expect(answer.choices[0]).toMatchObject({ finishReason: 'stop', message: { content: 'You said: hi there' } });
      expect(answer.usage).toMatchObject({ promptTokens: 12, completionTokens: 34, totalTokens: 46 });
    });

    it('streams, with usage', async () => {
      const stream = await connect().chat.send({ chatRequest: { model, messages, stream: true } });
      if ('choices' in stream) throw new Error('a whole answer came');
      let text = '';
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      expect(text).toBe('You said: hi there');
    });

    it('reports a stream that breaks off', async () => {
      const asked = { model, messages: [{ role: 'user' as const, content: breakOff }], stream: true as const };
      const stream = await connect().chat.send({ chatRequest: asked });
      if ('choices' in stream) throw new Error('a whole answer came');
      await expect(
        (async () => {
          for await (const chunk of stream) void chunk;
        })(),
      ).rejects.toThrow();
    });

    it('calls tools, and repeats their results', async () => {
      const answer = await connect().chat.send({ chatRequest: { model, messages, tools, stream: false } });
      if (!('choices' in answer)) throw new Error('a stream came');
      const message = answer.choices[0]?.message;
      const calls = message?.toolCalls ?? [];
      expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual(cities.map((city) => ({ city })));
      const results = calls.map(({ id }, index) => ({
        role: 'tool' as const,
        toolCallId: id,
        content: `wind in ${cities[index]}`,
      }));
      const turn = { role: 'assistant' as const, content: null, toolCalls: calls };
      const final = await connect().chat.send({
        chatRequest: { model, messages: [...messages, turn, ...results], tools, stream: false },
      });
      if (!('choices' in final)) throw new Error('a stream came');
      expect(final.choices[0]?.message.content).toBe(toolsSaid('wind'));
    });

    it('asks for structured output', async () => {
      const schema = { type: 'object', properties: { city: { type: 'string' } } };
      const responseFormat = { type: 'json_schema' as const, jsonSchema: { name: 'weather', schema } };
      const answer = await connect().chat.send({ chatRequest: { model, messages, responseFormat, stream: false } });
      if (!('choices' in answer)) throw new Error('a stream came');
      expect(JSON.parse(String(answer.choices[0]?.message.content))).toMatchObject({ city: 'Graz' });
    });

    it('fails with our status', async () => {
      const failed = connect().chat.send({ chatRequest: { model: 'acme/nothing', messages, stream: false } });
      await expect(failed).rejects.toMatchObject({ statusCode: 404 });
    });
  });
}
