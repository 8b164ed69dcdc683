import { chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { measureChat } from '../plan/chat-needs.ts';
import { aRoute, type RouteSketch } from '../testing/fixtures.ts';
import { fitToRoute } from './fit-to-route.ts';

const tool = { type: 'function', function: { name: 'look' } } as const;
const everything = {
  temperature: 0.5,
  top_p: 0.9,
  stop: ['x'],
  seed: 7,
  frequency_penalty: 1,
  presence_penalty: -1,
  tools: [tool],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  response_format: { type: 'json_object' },
};
const able = { tools: true, structuredOutput: true };

function fit(body: object, sketch: Partial<RouteSketch>) {
  const chat = chatRequestSchema.parse({ model: 'lab/one', messages: [{ role: 'user', content: 'hi' }], ...body });
  const { needs } = measureChat(chat, undefined);
  const fitted = fitToRoute(chat, needs, aRoute({ provider: 'acme', ...sketch }));
  return {
    same: fitted === chat,
    body: Object.fromEntries(Object.entries(fitted).filter(([, value]) => value !== null)),
  };
}

describe('fitToRoute', () => {
  it('hands on a body that the route takes whole, without a copy', () => {
    expect(fit(everything, { capabilities: able }).same).toBe(true);
    expect(fit({}, { supportedParameters: [] }).same).toBe(true);
  });

  it('leaves out what the route does not list, and keeps what it does', () => {
    const { body } = fit(everything, { capabilities: able, supportedParameters: ['temperature', 'tools'] });
    expect(body).toEqual({
      model: 'lab/one',
      messages: [{ role: 'user', content: 'hi' }],
      temperature: 0.5,
      tools: [tool],
    });
  });

  it('leaves out everything said of tools where there are none', () => {
    const { body } = fit({ tools: [tool], tool_choice: 'none', parallel_tool_calls: true }, {});
    expect(Object.keys(body)).toEqual(['model', 'messages']);
  });

  it('leaves out tools whose `none` cannot be said, so that they are not called', () => {
    const sketch = { capabilities: able, supportedParameters: ['tools'] };
    expect(fit({ tools: [tool], tool_choice: 'none' }, sketch).body).not.toHaveProperty('tools');
    expect(fit({ tools: [tool], tool_choice: 'none' }, { capabilities: able }).body).toMatchObject({
      tools: [tool],
      tool_choice: 'none',
    });
  });

  it('keeps a schema by the capability, JSON output by the list', () => {
    const schema = { response_format: { type: 'json_schema', json_schema: { name: 'a' } } };
    expect(fit(schema, { capabilities: able, supportedParameters: [] }).same).toBe(true);
    const object = { response_format: { type: 'json_object' } };
    expect(fit(object, { capabilities: able, supportedParameters: [] }).body).not.toHaveProperty('response_format');
    expect(fit(object, { supportedParameters: ['response_format'] }).same).toBe(true);
  });

  it('brings numbers inside the range of the provider', () => {
    const parameterRanges = { temperature: { max: 1 }, top_p: { min: 0.01, max: 0.95 } };
    expect(fit({ temperature: 1.5, top_p: 0 }, { parameterRanges }).body).toMatchObject({
      temperature: 1,
      top_p: 0.01,
    });
    expect(fit({ temperature: 1, top_p: 0.95 }, { parameterRanges }).same).toBe(true);
    expect(fit({ temperature: null }, { parameterRanges }).same).toBe(true);
  });

  it('does not bring back a number that is dropped', () => {
    const { body } = fit(
      { temperature: 1.5 },
      { supportedParameters: [], parameterRanges: { temperature: { max: 1 } } },
    );
    expect(body).not.toHaveProperty('temperature');
  });

  it('keeps one of two parameters that exclude each other', () => {
    const { body } = fit({ temperature: 0.2, top_p: 0.5 }, { exclusiveParameters: [['temperature', 'top_p']] });
    expect(body).toMatchObject({ temperature: 0.2 });
    expect(body).not.toHaveProperty('top_p');
  });

  it('never touches the ceiling, the user or the conversation', () => {
    const sent = { max_tokens: 5, user: 'u', stream: true };
    expect(fit({ ...sent, seed: 1 }, { supportedParameters: [] }).body).toMatchObject(sent);
  });
});
