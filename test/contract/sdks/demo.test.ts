import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { freePorts, npmStart, type StartedByNpm } from '../../kit/npm-start.ts';
import { runnableWeather, weather } from './world.ts';

describe('openai with the service of `npm start`', () => {
  const model = 'demo/chat';
  const folder = useFolder('demo');
  let started: StartedByNpm | undefined;
  let client: OpenAI;
  const messages = [{ role: 'user' as const, content: 'Grüße' }];

  beforeAll(async () => {
    started = await npmStart(folder, await freePorts());
    const { base_url: baseURL, inference_key: apiKey } = started.quickstart;
    client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  });
  afterAll(async () => {
    await started?.end('SIGTERM');
  });

  it('lists the models to try', async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining([model, 'demo/embedding']));
  });

  it('chats', async () => {
    const answer = await client.chat.completions.create({ model, messages });
    expect(answer.model).toBe(model);
    expect(answer.choices[0]?.message.content).toContain('You said: Grüße');
    expect(answer.usage?.completion_tokens).toBeGreaterThan(10);
  });

  it('streams, with reasoning', async () => {
    const stream = client.chat.completions.stream({ model, messages, reasoning_effort: 'low' });
    let reasoning = '';
    stream.on('chunk', ({ choices }) => {
      const delta = choices[0]?.delta as { reasoning?: string } | undefined;
      reasoning += delta?.reasoning ?? '';
    });
    expect(await stream.finalContent()).toContain('You said: Grüße');
    expect(reasoning).toContain('no mind');
  });

  it('calls a tool and repeats its result', async () => {
    const runner = client.chat.completions.runTools({ model, messages, tools: [runnableWeather()] });
    expect(await runner.finalContent()).toBe('The tool answered: sun in example');
  });

  it('streams a tool call', async () => {
    const tools = [{ type: 'function' as const, function: weather }];
    const stream = client.chat.completions.stream({ model, messages, tools });
    const final = await stream.finalChatCompletion();
    const [call] = final.choices[0]?.message.tool_calls ?? [];
    expect(call).toMatchObject({ type: 'function', function: { name: 'weather', arguments: '{"city":"example"}' } });
  });

  it('returns the same embedding for the same text', async () => {
    const input = ['one', 'two', 'one'];
    const { data } = await client.embeddings.create({ model: 'demo/embedding', input });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([256, 256, 256]);
    expect(data[2]?.embedding).toEqual(data[0]?.embedding);
    expect(data[1]?.embedding).not.toEqual(data[0]?.embedding);
  });
});
