import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent } from '@mastra/core/agent';
import type { MastraModelConfig } from '@mastra/core/llm';
import { createTool } from '@mastra/core/tools';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { breakOff, type ClientWorld, chatModel, cities, privateFetchOf, toolsSaid, weather } from './world.ts';

/** Tests Mastra's agents: with a URL and a key, and with a model of the AI SDK, which accepts our `fetch`. */
export function mastraSuite(world: ClientWorld): void {
  const models = {
    'compatibility mode': (model = chatModel): MastraModelConfig => ({
      id: `sotto/${model}`,
      url: world.service.baseUrl,
      apiKey: world.inferenceKey,
    }),
    'the ticket flow': (model = chatModel) =>
      // Mastra's types come from an older AI SDK.
      createOpenAICompatible({
        name: 'sotto',
        baseURL: world.service.baseUrl,
        includeUsage: true,
        supportsStructuredOutputs: true,
        fetch: privateFetchOf(world),
      })(model) as MastraModelConfig,
  };
  const weatherTool = (asked: string[]) =>
    createTool({
      id: weather.name,
      description: weather.description,
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        asked.push(city);
        return `snow in ${city}`;
      },
    });

  describe.each(Object.entries(models))('@mastra/core, in %s', (_, modelOf) => {
    const agent = (asked?: string[], model?: string) =>
      new Agent({
        id: 'helper',
        name: 'helper',
        instructions: 'Help.',
        model: modelOf(model),
        maxRetries: 0,
        ...(asked === undefined ? {} : { tools: { weather: weatherTool(asked) } }),
      });

    it('generates, with its usage', async () => {
      const { text, usage } = await agent().generate('hi');
      expect(text).toBe('You said: hi');
      expect(usage).toMatchObject({ inputTokens: 12, outputTokens: 34, totalTokens: 46 });
    });

    it('streams', async () => {
      const stream = await agent().stream('hi there');
      let text = '';
      for await (const piece of stream.textStream) text += piece;
      expect(text).toBe('You said: hi there');
      expect(await stream.finishReason).toBe('stop');
    });

    it('reports a stream that breaks off', async () => {
      const stream = await agent().stream(breakOff);
      const kinds: string[] = [];
      for await (const { type } of stream.fullStream) kinds.push(type);
      expect(kinds).toContain('error');
    });

    it('runs a tool loop, whole and streamed', async () => {
      const asked: string[] = [];
      expect((await agent(asked).generate('weather?')).text).toBe(toolsSaid('snow'));
      expect(asked.splice(0)).toEqual(cities);
      const stream = await agent(asked).stream('weather?');
      expect(await stream.text).toBe(toolsSaid('snow'));
      expect(asked).toEqual(cities);
    });

    it('asks for structured output', async () => {
      const schema = z.object({ city: z.string(), degrees: z.number() });
      const { object } = await agent().generate('weather?', { structuredOutput: { schema } });
      expect(object).toEqual({ city: 'Graz', degrees: 21 });
    });

    it('fails with our status and message', async () => {
      await expect(agent(undefined, 'acme/nothing').generate('hi')).rejects.toMatchObject({ statusCode: 404 });
    });
  });
}
