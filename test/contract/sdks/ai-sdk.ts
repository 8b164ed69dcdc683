import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, embedMany, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import {
  breakOff,
  type ClientWorld,
  chatModel,
  cities,
  embeddingModel,
  privateFetchOf,
  reasoningText,
  toolsSaid,
  vectorOf,
  weather,
  weatherSchema,
} from './world.ts';

/** Tests Vercel's `ai` with its provider for OpenAI-compatible services, in both flows. */
export function aiSdkSuite(world: ClientWorld): void {
  const shared = () => ({
    name: 'sotto',
    baseURL: world.service.baseUrl,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  const clients = {
    'compatibility mode': () => createOpenAICompatible({ ...shared(), apiKey: world.inferenceKey }),
    'the ticket flow': () => createOpenAICompatible({ ...shared(), fetch: privateFetchOf(world) }),
  };
  const tools = () => ({
    weather: tool({
      description: weather.description,
      inputSchema: jsonSchema<{ city: string }>(weatherSchema),
      execute: async ({ city }) => `rain in ${city}`,
    }),
  });
  /** The kinds of parts of a stream that breaks off. An error may also be thrown. */
  const partsOf = async (model: Parameters<typeof streamText>[0]['model']): Promise<string[]> => {
    const parts: string[] = [];
    const { stream } = streamText({ model, prompt: breakOff, maxRetries: 0, onError: () => {} });
    try {
      for await (const { type } of stream) parts.push(type);
    } catch {
      parts.push('error');
    }
    return parts;
  };
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

    it('reports a stream that breaks off', async () => {
      expect(await partsOf(connect()(chatModel))).toContain('error');
    });

    it('runs a tool loop, whole and streamed', async () => {
      const question = { prompt: 'weather?', tools: tools(), stopWhen: isStepCount(3), maxRetries: 0, ...thinking };
      const whole = await generateText({ model: connect()(chatModel), ...question });
      expect(whole.text).toBe(toolsSaid('rain'));
      expect(whole.steps[0]?.toolCalls.map(({ input }) => input)).toEqual(cities.map((city) => ({ city })));
      const stream = streamText({ model: connect()(chatModel), ...question });
      expect(await stream.text).toBe(toolsSaid('rain'));
      const [first] = await stream.steps;
      expect(first?.toolCalls.map(({ input, toolCallId }) => [toolCallId, input])).toEqual(
        cities.map((city, i) => [`call_${i}`, { city }]),
      );
      expect(first?.finishReason).toBe('tool-calls');
    });

    it('asks for structured output', async () => {
      const schema = jsonSchema<{ city: string; degrees: number }>({
        type: 'object',
        properties: { city: { type: 'string' }, degrees: { type: 'number' } },
      });
      const asked = { prompt: 'weather?', output: Output.object({ schema }), maxRetries: 0 };
      const result = await generateText({ model: connect()(chatModel), ...asked });
      expect(result.output).toEqual({ city: 'Graz', degrees: 21 });
      const stream = streamText({ model: connect()(chatModel), ...asked });
      expect(await stream.output).toEqual({ city: 'Graz', degrees: 21 });
      expect(world.provider.seen.at(-1)?.body.response_format).toMatchObject({ type: 'json_schema' });
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

  const openAiModels = {
    'compatibility mode': (model: string) =>
      createOpenAI({ baseURL: world.service.baseUrl, apiKey: world.inferenceKey }).chat(model),
    'the ticket flow': (model: string) =>
      createOpenAI({ baseURL: world.service.baseUrl, apiKey: 'never-sent', fetch: privateFetchOf(world) }).chat(model),
  };

  describe.each(Object.entries(openAiModels))('ai with @ai-sdk/openai, in %s', (_, modelOf) => {
    it('reports a stream that breaks off', async () => {
      expect(await partsOf(modelOf(chatModel))).toContain('error');
    });

    it('generates, streams and runs a tool loop', async () => {
      const whole = await generateText({ model: modelOf(chatModel), prompt: 'hi', maxRetries: 0 });
      expect(whole.text).toBe('You said: hi');
      expect(whole.usage).toMatchObject({ inputTokens: 12, outputTokens: 34, totalTokens: 46 });
      const question = { prompt: 'weather?', tools: tools(), stopWhen: isStepCount(3), maxRetries: 0 };
      const stream = streamText({ model: modelOf(chatModel), ...question });
      expect(await stream.text).toBe(toolsSaid('rain'));
      // The usage of both steps together.
      expect(await stream.usage).toMatchObject({ inputTokens: 24, outputTokens: 68, totalTokens: 92 });
    });
  });

  it.each([
    ['@ai-sdk/openai-compatible', () => clients['compatibility mode']()('acme/nothing')],
    ['@ai-sdk/openai', () => openAiModels['compatibility mode']('acme/nothing')],
  ])('ai reads our errors with %s', async (_, model) => {
    const asked = generateText({ model: model(), prompt: 'hi', maxRetries: 0 });
    const error = await asked.catch((thrown: unknown) => thrown);
    if (!APICallError.isInstance(error)) throw new Error('not an APICallError');
    expect(error).toMatchObject({ statusCode: 404, isRetryable: false });
    expect(error.message).toMatch(/`acme\/nothing` does not exist/);
    expect(error.data).toMatchObject({ error: { type: 'model_not_found', code: 'model_not_found', param: 'model' } });
  });
}
