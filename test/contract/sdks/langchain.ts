import { AIMessage, HumanMessage, ToolMessage, type UsageMetadata } from '@langchain/core/messages';
import { DynamicStructuredTool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { describe, expect, it } from 'vitest';
import {
  breakOff,
  type ClientWorld,
  cities,
  embeddingModel,
  chatModel as model,
  privateFetchOf,
  toolsSaid,
  vectorOf,
  weather,
  weatherSchema,
} from './world.ts';

/** Tests LangChain's OpenAI classes, in both flows. */
export function langchainSuite(world: ClientWorld): void {
  const connections = {
    'compatibility mode': () => ({
      apiKey: world.inferenceKey,
      maxRetries: 0,
      configuration: { baseURL: world.service.baseUrl },
    }),
    'the ticket flow': () => ({
      apiKey: 'never-sent',
      maxRetries: 0,
      configuration: { baseURL: world.service.baseUrl, fetch: privateFetchOf(world) },
    }),
  };
  const weatherTool = new DynamicStructuredTool({
    name: weather.name,
    description: weather.description,
    schema: weatherSchema,
    func: async ({ city }: { city: string }) => `fog in ${city}`,
  });

  describe.each(Object.entries(connections))('langchain, in %s', (_, connection) => {
    it('invokes', async () => {
      const answer = await new ChatOpenAI({ model, temperature: 0, ...connection() }).invoke('hi');
      expect(answer.content).toBe('You said: hi');
      expect(answer.usage_metadata).toMatchObject({ input_tokens: 12, output_tokens: 34, total_tokens: 46 });
      expect(answer.response_metadata).toMatchObject({ finish_reason: 'stop' });
    });

    it('streams', async () => {
      const chat = new ChatOpenAI({ model, streamUsage: true, ...connection() });
      let text = '';
      let tokens = 0;
      for await (const chunk of await chat.stream('hi there')) {
        text += chunk.content;
        tokens += (chunk.usage_metadata as UsageMetadata | undefined)?.total_tokens ?? 0;
      }
      expect(text).toBe('You said: hi there');
      expect(tokens).toBe(46);
    });

    it('reports a stream that breaks off', async () => {
      const chat = new ChatOpenAI({ model, ...connection() });
      await expect(
        (async () => {
          for await (const chunk of await chat.stream(breakOff)) void chunk;
        })(),
      ).rejects.toThrow();
    });

    it('binds tools and runs a tool loop, whole and streamed', async () => {
      const chat = new ChatOpenAI({ model, ...connection() }).bindTools([weatherTool]);
      const question = new HumanMessage('weather?');
      const whole = await chat.invoke([question]);
      const stream = await chat.stream([question]);
      let streamed: Awaited<ReturnType<typeof chat.invoke>> | undefined;
      for await (const chunk of stream) streamed = streamed === undefined ? chunk : streamed.concat(chunk);
      for (const answer of [whole, streamed]) {
        expect(answer?.tool_calls?.map(({ id, args }) => [id, args])).toEqual(
          cities.map((city, i) => [`call_${i}`, { city }]),
        );
        const calls = answer?.tool_calls ?? [];
        const results = await Promise.all(
          calls.map(async ({ id = '', args }) => {
            const content = await weatherTool.invoke(args as { city: string });
            return new ToolMessage({ content: String(content), tool_call_id: id });
          }),
        );
        const turn = new AIMessage({ content: answer?.content ?? '', tool_calls: calls });
        const final = await chat.invoke([question, turn, ...results]);
        expect(final.content).toBe(toolsSaid('fog'));
      }
    });

    it('asks for structured output', async () => {
      const schema = {
        title: 'weather',
        type: 'object',
        properties: { city: { type: 'string' }, degrees: { type: 'number' } },
        required: ['city', 'degrees'],
      };
      const chat = new ChatOpenAI({ model, ...connection() });
      const asked = chat.withStructuredOutput(schema, { method: 'jsonSchema' });
      expect(await asked.invoke('weather?')).toEqual({ city: 'Graz', degrees: 21 });
      expect(world.provider.seen.at(-1)?.body.response_format).toMatchObject({ type: 'json_schema' });
    });

    it('fails as the client under it does', async () => {
      const failed = new ChatOpenAI({ model: 'acme/nothing', ...connection() }).invoke('hi');
      await expect(failed).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
    });

    it('embeds', async () => {
      const embeddings = new OpenAIEmbeddings({ model: embeddingModel, ...connection() });
      expect(await embeddings.embedDocuments(['a', 'b', 'c'])).toEqual([0, 1, 2].map(vectorOf));
      expect(await embeddings.embedQuery('a')).toEqual(vectorOf(0));
    });
  });
}
