import { describe, expect, it } from 'vitest';
import { ServiceError } from '../errors.ts';
import { chatRequestSchema } from './chat-request.ts';
import { parseRequest } from './parse-request.ts';
import { ticketRequestSchema } from './ticket-request.ts';

const chat = (fields: object): object => ({
  model: 'acme/small',
  messages: [{ role: 'user', content: 'hi' }],
  ...fields,
});

function refusal(body: unknown, schema: Parameters<typeof parseRequest>[0] = chatRequestSchema): ServiceError {
  try {
    parseRequest(schema, body);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('the body was accepted');
}

describe('parseRequest', () => {
  it.each([
    [chat({ provider: { max_attempts: 4 } }), 'invalid_request', 'provider.max_attempts', /at most 3/],
    [
      chat({ provider: { quantizations: ['fp8'] } }),
      'invalid_request',
      'provider.quantizations',
      /Unknown field `quantizations`/,
    ],
    [
      chat({ provider: { data_collection: 'deny' } }),
      'invalid_request',
      'provider.data_collection',
      /`data_collection`/,
    ],
    [chat({ provider: { sort: 'default' } }), 'invalid_request', 'provider.sort', /`privacy` or `price`/],
    [chat({ provider: { sort: 1 } }), 'invalid_provider_policy', 'provider.sort', /`privacy` or `price`/],
    [chat({ provider: { minimum_privacy: 2 } }), 'invalid_provider_policy', 'provider.minimum_privacy', /`tee`/],
    [chat({ seed: 2 ** 53 }), 'invalid_request', 'seed', /64 bits/],
    [chat({ provider: { only: [] } }), 'invalid_request', 'provider.only', /at least 1/],
    [chat({ provider: { only: 'acme' } }), 'invalid_provider_policy', 'provider.only', /must be an array/],
    [chat({ provider: { only: ['ACME!'] } }), 'invalid_provider_policy', 'provider.only.0', /lower-case/],
    [chat({ provider: 'Acme Corp' }), 'invalid_provider_policy', 'provider', /lower-case/],
    [chat({ provider: 7 }), 'invalid_provider_policy', 'provider', /provider id/],
    [chat({ n: 2 }), 'invalid_request', 'n', /must be 1/],
    [chat({ temperature: 'hot' }), 'invalid_request', 'temperature', /a number/],
    [chat({ messages: [] }), 'invalid_request', 'messages', /at least 1/],
    [chat({ messages: [{ role: 'king', content: 'x' }] }), 'invalid_request', 'messages.0.role', /role/],
    [chat({ messages: [{ role: 'user', content: 5 }] }), 'invalid_request', 'messages.0.content', /string or an array/],
    [chat({ reasoning: { max_tokens: 100 } }), 'invalid_request', 'reasoning.max_tokens', /max_completion_tokens/],
    [chat({ reasoning: { exclude: true } }), 'invalid_request', 'reasoning.exclude', /strip_thinking_response/],
    [[], 'invalid_request', undefined, /must be an object/],
    [null, 'invalid_request', undefined, /must be an object/],
  ])('refuses %j', (body, type, param, message) => {
    const error = refusal(body);
    expect(error.type).toBe(type);
    expect(error.param).toBe(param);
    expect(error.message).toMatch(message);
  });

  it('never quotes a value of the body', () => {
    const error = refusal(chat({ temperature: 'CANARY', messages: [{ role: 'CANARY', content: { CANARY: 1 } }] }));
    expect(error.message).not.toContain('CANARY');
  });

  it.each([[undefined], [null], [[]]])('makes a tool call of a `function_call` beside `tool_calls` of %j', (calls) => {
    const called = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } };
    const messages = [
      { ...called, tool_calls: calls },
      { role: 'function', name: 'f', content: 'x' },
    ];
    const id = 'function_call_0';
    expect(parseRequest(chatRequestSchema, chat({ messages })).messages).toMatchObject([
      { tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: id, content: 'x' },
    ]);
  });

  it('drops unknown chat fields and takes null for absent', () => {
    const parsed = parseRequest(chatRequestSchema, chat({ transforms: ['x'], functions: [], temperature: null }));
    expect(parsed).not.toHaveProperty('transforms');
    expect(parsed).not.toHaveProperty('functions');
  });

  it('refuses a JSON schema nested beyond what can be written again', () => {
    let schema: object = {};
    for (let depth = 0; depth < 5000; depth += 1) schema = { items: schema };
    const tools = [{ type: 'function', function: { name: 'f', parameters: schema } }];
    expect(refusal(chat({ tools })).message).toMatch(/deeper than 64/);
  });

  it.each([
    ['messages', (bad: unknown[]) => chat({ messages: bad })],
    ['content', (bad: unknown[]) => chat({ messages: [{ role: 'user', content: bad }] })],
    ['reasoning', (bad: unknown[]) => chat({ messages: [{ role: 'assistant', reasoning_details: bad }] })],
  ])('judges a list of %s up to its first fault only', (_, body) => {
    let judged = 0;
    const bad = Array.from({ length: 1000 }, () => ({
      get type() {
        judged += 1;
        return 'none';
      },
      get role() {
        judged += 1;
        return 'none';
      },
    }));
    expect(refusal(body(bad)).type).toMatch(/^invalid_/);
    // Legacy calls are found in one pass, and the schema stops at the first fault.
    expect(judged).toBeLessThan(bad.length + 10);
  });

  it('refuses unknown keys in a ticket request, so that content cannot slip to the control plane', () => {
    expect(refusal({ model: 'acme/small', messages: [] }, ticketRequestSchema).message).toMatch(/`messages`/);
  });
});
