import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { breakOff, type ClientWorld, chatModel, cities, openAiClients, toolsSaid, weather } from './world.ts';

// Otherwise the library reports every run to OpenAI.
setTracingDisabled(true);

/** Tests OpenAI's agents, which use chat completions with other services, in both flows. */
export function openAiAgentsSuite(world: ClientWorld): void {
  const agent = (
    client: OpenAI,
    more: { readonly model?: string; readonly tools?: ReturnType<typeof tool>[] } = {},
  ) => {
    const { model = chatModel, tools = [] } = more;
    return new Agent({ name: 'helper', model: new OpenAIChatCompletionsModel(client, model), tools });
  };
  const weatherTool = (asked: string[]) =>
    tool({
      name: weather.name,
      description: weather.description,
      parameters: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        asked.push(city);
        return `hail in ${city}`;
      },
    });

  describe.each(Object.entries(openAiClients(world)))('@openai/agents, in %s', (_, connect) => {
    it('runs an agent, with its usage', async () => {
      const result = await run(agent(connect()), 'hi');
      expect(result.finalOutput).toBe('You said: hi');
      expect(result.rawResponses[0]?.usage).toMatchObject({ inputTokens: 12, outputTokens: 34, totalTokens: 46 });
    });

    it('streams', async () => {
      const stream = await run(agent(connect()), 'hi there', { stream: true });
      let text = '';
      for await (const piece of stream.toTextStream()) text += piece;
      await stream.completed;
      expect(text).toBe('You said: hi there');
      expect(stream.finalOutput).toBe(text);
      expect(stream.rawResponses[0]?.usage).toMatchObject({ inputTokens: 12, outputTokens: 34 });
    });

    it('reports a stream that breaks off', async () => {
      const stream = await run(agent(connect()), breakOff, { stream: true });
      await expect(
        (async () => {
          for await (const piece of stream.toTextStream()) void piece;
          await stream.completed;
        })(),
      ).rejects.toThrow();
    });

    it('runs a tool loop, whole and streamed', async () => {
      const asked: string[] = [];
      const whole = await run(agent(connect(), { tools: [weatherTool(asked)] }), 'weather?');
      expect(whole.finalOutput).toBe(toolsSaid('hail'));
      expect(asked.splice(0)).toEqual(cities);
      const stream = await run(agent(connect(), { tools: [weatherTool(asked)] }), 'weather?', { stream: true });
      await stream.completed;
      expect(stream.finalOutput).toBe(toolsSaid('hail'));
      expect(asked).toEqual(cities);
    });

    it('asks for structured output', async () => {
      const model = new OpenAIChatCompletionsModel(connect(), chatModel);
      const outputType = z.object({ city: z.string(), degrees: z.number() });
      const { finalOutput } = await run(new Agent({ name: 'helper', model, outputType }), 'weather?');
      expect(finalOutput).toEqual({ city: 'Graz', degrees: 21 });
      expect(world.provider.seen.at(-1)?.body.response_format).toMatchObject({ type: 'json_schema' });
    });

    it('fails as the client under it does', async () => {
      const failed = run(agent(connect(), { model: 'acme/nothing' }), 'hi');
      await expect(failed).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
    });
  });
}
