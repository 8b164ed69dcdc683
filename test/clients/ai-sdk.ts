import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, embedMany, generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { privateFetchOf } from './private-client.ts';
import {
  type ClientWorld,
  chatModel,
  cities,
  embeddingModel,
  reasoningText,
  vectorOf,
  weather,
  weatherSchema,
} from './world.ts';

/** Vercel's `ai` with its provider for OpenAI-compatible services, in both flows. */
export function aiSdkSuite(world: ClientWorld): void {
  const clients = {
    'compatibility mode': () =>
      createOpenAICompatible({
        name: 'sotto',
        baseURL: world.service.baseUrl,
        apiKey: world.inferenceKey,
        includeUsage: true,
      }),
    'the ticket flow': () =>
      createOpenAICompatible({
        name: 'sotto',
        baseURL: world.service.baseUrl,
        includeUsage: true,
        fetch: privateFetchOf(world),
      }),
  };
  const tools = () => ({
    weather: tool({
      description: weather.description,
      inputSchema: jsonSchema<{ city: string }>(weatherSchema),
      execute: async ({ city }) => `rain in ${city}`,
    }),
  });
  const toolsSaid = `The tools said: ${cities.map((city) => `rain in ${city}`).join(' / ')}`;
  const thinking = { providerOptions: { sotto: { reasoningEffort: 'low' } } };

  describe.each(Object.entries(clients))('ai, in %s', (_, connect) => {
    it('generates text, with its usage and its reasoning', async () => {
      const result = await generateText({ model: connect()(chatModel), prompt: 'hi', maxRetries: 0, ...thinking });
      expect(result.text).toBe('You said: hi');
      expect(result.reasoningText).toBe(reasoningText);
      expect(result.finishReason).toBe('stop');
      expect(result.usage).toMatchObject({ inputTokens: 12, outputTokens: 34, totalTokens: 46 });
      expect(result.response).toMatchObject({ modelId: chatModel, id: expect.stringMatching(/^chatcmpl-/) });
      expect(world.provider.seen.at(-1)?.body.reasoning_effort).toBe('low');
    });

    it('streams text and reasoning', async () => {
      const result = streamText({ model: connect()(chatModel), prompt: 'hi there', maxRetries: 0, ...thinking });
      const parts: string[] = [];
      let text = '';
      let reasoning = '';
      for await (const part of result.stream) {
        if (parts.at(-1) !== part.type) parts.push(part.type);
        if (part.type === 'text-delta') text += part.text;
        if (part.type === 'reasoning-delta') reasoning += part.text;
      }
      expect(text).toBe('You said: hi there');
      expect(reasoning).toBe(reasoningText);
      expect(parts.indexOf('reasoning-end')).toBeLessThan(parts.indexOf('text-start'));
      expect(parts).not.toContain('error');
      expect(await result.finishReason).toBe('stop');
      expect(await result.usage).toMatchObject({ inputTokens: 12, outputTokens: 34, totalTokens: 46 });
    });

    it('goes round with tools, whole and streamed', async () => {
      const question = { prompt: 'weather?', tools: tools(), stopWhen: isStepCount(3), maxRetries: 0, ...thinking };
      const whole = await generateText({ model: connect()(chatModel), ...question });
      expect(whole.text).toBe(toolsSaid);
      expect(whole.steps[0]?.toolCalls.map(({ input }) => input)).toEqual(cities.map((city) => ({ city })));
      const stream = streamText({ model: connect()(chatModel), ...question });
      expect(await stream.text).toBe(toolsSaid);
      const [first] = await stream.steps;
      expect(first?.toolCalls.map(({ input, toolCallId }) => [toolCallId, input])).toEqual(
        cities.map((city, i) => [`call_${i}`, { city }]),
      );
      expect(first?.finishReason).toBe('tool-calls');
    });

    it('embeds many', async () => {
      const values = ['a', 'b', 'c', 'd'];
      const model = connect().embeddingModel(embeddingModel);
      const { embeddings, usage } = await embedMany({ model, values, maxRetries: 0 });
      expect(embeddings).toEqual(values.map((_, index) => vectorOf(index)));
      expect(usage.tokens).toBe(16);
    });

    it('stops a stream, and the provider’s connection is closed', async () => {
      const leaving = new AbortController();
      const result = streamText({
        model: connect()(chatModel),
        prompt: 'forever',
        maxRetries: 0,
        abortSignal: leaving.signal,
      });
      for await (const part of result.stream) if (part.type === 'text-delta') leaving.abort();
      await world.provider.seen.at(-1)?.closed;
      expect(leaving.signal.aborted).toBe(true);
    });
  });

  it('ai reads our errors', async () => {
    const model = clients['compatibility mode']()('acme/nothing');
    const error = await generateText({ model, prompt: 'hi', maxRetries: 0 }).catch((thrown: unknown) => thrown);
    if (!APICallError.isInstance(error)) throw new Error('not an APICallError');
    expect(error).toMatchObject({ statusCode: 404, isRetryable: false });
    expect(error.message).toMatch(/model/);
  });
}
