import { chatCompletionSchema, parseExactJson } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { allOf, readStream } from '../../kit/answer.ts';
import { ask, bearer, flows, hello, ticketHeader } from '../../kit/client.ts';
import { type Concept, upstreamModels } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { sendJson } from '../../kit/provider.ts';
import * as sse from '../../kit/scenes/events.ts';
import { post } from '../../kit/send.ts';

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Looks up the weather.',
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Oslo', 'Bern'] }, constructor: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
      $defs: { deep: { anyOf: [{ type: 'null' }, { type: 'array', items: { $ref: '#/$defs/deep' } }] } },
    },
  },
};
const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } };
const schema = {
  type: 'json_schema',
  json_schema: { name: 'reply', strict: true, schema: { type: 'object', properties: { x: { type: 'number' } } } },
};

/** Tests the fields of a chat request: which of them reach the provider, and how the answer looks. */
export const chatBody: Concept = (suite) => {
  const model = 'acme/small';
  const key = (): string => suite.account.inferenceKey;

  describe.each(flows)('chat body, %s flow', (flow) => {
    const askFor = (body: object) => ask(suite.service, key(), { model, ...body }, { flow });

    it('an answer is an OpenAI completion with usage and cost in USD', async () => {
      const answer = await askFor({});
      expect(answer.status, answer.text).toBe(200);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      const completion = chatCompletionSchema.parse(answer.json);
      expect(completion).toMatchObject({
        model,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Hello there, this is a provider.' },
            finish_reason: 'stop',
          },
        ],
        // 10 × 0.5 + 20 × 1.5 USD per million.
        usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30, cost: 0.000035 },
      });
    });

    it('`model` is the canonical id; ids and fingerprints of the provider do not leak', async () => {
      const answer = await askFor({});
      expect(answer.json).toMatchObject({ model });
      const all = allOf(answer);
      for (const mark of ['provider-own-id', 'fp_secret', ...upstreamModels]) expect(all).not.toContain(mark);
    });

    it('the provider receives its own model name and the unchanged messages', async () => {
      const messages = [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Zażółć gęślą jaźń 🦜 "quoted" \\ \u2028 \u0000' },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: 'Go on.', name: 'ann' },
      ];
      expect((await askFor({ messages })).status).toBe(200);
      expect(suite.lastSeen().body).toMatchObject({ model: 'small-v1', messages });
    });

    it('standard parameters pass through, including zero and false', async () => {
      const parameters = {
        temperature: 0,
        top_p: 0.25,
        stop: ['END', '\n\n'],
        seed: 0,
        presence_penalty: -1.5,
        frequency_penalty: 0.5,
        user: 'end-user-7',
      };
      const answer = await askFor(parameters);
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().body).toMatchObject(parameters);
      await askFor({ stop: 'END' });
      expect([suite.lastSeen().body.stop].flat()).toEqual(['END']);
    });

    it('top_k, min_p and repetition_penalty reach a provider whose API supports them', async () => {
      const parameters = { top_k: 40, min_p: 0.05, repetition_penalty: 1.1 };
      const answer = await askFor(parameters);
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().body).toMatchObject(parameters);
    });

    it.each(['9223372036854775807', '-9223372036854775808', '9007199254740993', '424242'])(
      'the seed %s reaches the provider with every digit',
      async (seed) => {
        const body = JSON.stringify({ model, messages: hello, seed: 1 }).replace('"seed":1', `"seed":${seed}`);
        const url = `${suite.service.baseUrl}/chat/completions`;
        const { ticket } = await suite.service.mintTicket(key(), { model });
        const answer = await post(url, body, flow === 'ticket' ? ticketHeader(ticket) : bearer(key()));
        expect(answer.status, answer.text).toBe(200);
        expect(suite.lastSeen().text).toContain(`"seed":${seed},`);
      },
    );

    it('schemas reach the provider with every digit, and with their names in their order', async () => {
      const parameters = '{"type":"object","properties":{"b":{"enum":[9007199254740993]},"10":{},"2":{}}}';
      const exact = parseExactJson(parameters);
      const answer = await askFor({
        tools: [{ type: 'function', function: { name: 'f', parameters: exact } }],
        response_format: { type: 'json_schema', json_schema: { name: 'r', schema: exact } },
      });
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().text.split(parameters)).toHaveLength(3);
    });

    it.each([1.5, 2 ** 63, 2 ** 70, '7', true])('the seed %j is 400', async (seed) => {
      expectError(await askFor({ seed }), 400, 'invalid_request', 'seed');
    });

    it('`models` rejects a value of the wrong type in the same way as `model`', async () => {
      const answer = await askFor({ models: ['acme/embed'] });
      expectError(answer, 400, 'invalid_request');
      expect(answer.text).toContain('acme/embed is not served here');
      expect(suite.asked).toBe(0);
    });

    it('an empty `models` list is ignored', async () => {
      const answer = await askFor({ models: [] });
      expect(answer.status, answer.text).toBe(200);
    });

    it('legacy function calls in the conversation become tool calls and tool messages', async () => {
      const question = { role: 'user', content: 'Weather?' };
      const legacy = [
        question,
        { role: 'assistant', content: null, function_call: { name: 'get_weather', arguments: '{}' } },
        { role: 'function', name: 'get_weather', content: 'Sunny.' },
      ];
      const answer = await askFor({ messages: legacy, functions: [{ name: 'get_weather' }], function_call: 'auto' });
      expect(answer.status, answer.text).toBe(200);
      const id = 'function_call_1';
      const called = { id, type: 'function', function: { name: 'get_weather', arguments: '{}' } };
      const { body } = suite.lastSeen();
      expect(body.messages).toEqual([
        question,
        { role: 'assistant', content: null, tool_calls: [called] },
        { role: 'tool', tool_call_id: id, content: 'Sunny.' },
      ]);
      for (const name of ['functions', 'function_call', 'tools']) expect(body).not.toHaveProperty(name);
    });

    it('a function result without a matching call is 400', async () => {
      const messages = [{ role: 'function', name: 'get_weather', content: 'Sunny.' }];
      expectError(await askFor({ messages }), 400, 'invalid_request', 'messages.0.role');
    });

    it('null means that a field is absent, inside the policy too', async () => {
      const nothing = ['order', 'only', 'ignore', 'allow_fallbacks', 'sort', 'minimum_privacy', 'max_price'];
      const provider = Object.fromEntries(
        [...nothing, 'require_parameters', 'max_attempts'].map((name) => [name, null]),
      );
      for (const policy of [provider, { ...provider, max_price: { input: null, output: null } }]) {
        const answer = await askFor({ provider: policy, models: null, reasoning: { max_tokens: null, exclude: null } });
        expect(answer.status, answer.text).toBe(200);
      }
    });

    it.each(['max_tokens', 'max_completion_tokens'])('%s is the limit sent to the provider', async (name) => {
      const answer = await askFor({ [name]: 77 });
      expect(answer.status, answer.text).toBe(200);
      const { max_tokens, max_completion_tokens } = suite.lastSeen().body;
      expect(max_completion_tokens ?? max_tokens).toBe(77);
      expect([77, undefined]).toContain(max_tokens);
    });

    it('if the request sets no limit, the provider receives the limit of the route', async () => {
      await askFor({});
      const { max_tokens, max_completion_tokens } = suite.lastSeen().body;
      expect(max_completion_tokens ?? max_tokens).toBe(1000);
    });

    it('both aliases of max_tokens with the same value are accepted', async () => {
      const answer = await askFor({ max_tokens: 40, max_completion_tokens: 40 });
      expect(answer.status, answer.text).toBe(200);
    });

    it('both aliases of max_tokens with different values are 400', async () => {
      expectError(await askFor({ max_tokens: 40, max_completion_tokens: 41 }), 400, 'invalid_request');
      expect(suite.asked).toBe(0);
    });

    it('tools, tool_choice and parallel_tool_calls reach the provider, and tool calls come back', async () => {
      suite.provider('acme').answer((_, response) =>
        sendJson(response, 200, {
          id: 'x',
          object: 'chat.completion',
          choices: [
            {
              index: 0,
              message: { role: 'assistant', content: null, tool_calls: [call] },
              finish_reason: 'tool_calls',
            },
          ],
          usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
        }),
      );
      const asked = {
        tools: [weather],
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
        parallel_tool_calls: false,
      };
      const answer = await askFor(asked);
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().body).toMatchObject(asked);
      // The schema must arrive byte for byte, because models are sensitive to the order of its keys.
      expect(suite.lastSeen().text).toContain(JSON.stringify(weather.function.parameters));
      const completion = chatCompletionSchema.parse(answer.json);
      expect(completion.choices[0]).toMatchObject({
        message: { content: null, tool_calls: [call] },
        finish_reason: 'tool_calls',
      });
    });

    it('tool calls arrive in a stream', async () => {
      const deltas = [
        { index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '' } },
        { index: 0, function: { arguments: '{"ci' } },
        { index: 0, function: { arguments: 'ty":"Oslo"}' } },
      ];
      const streamed = sse.stream(
        sse.frame(sse.chunk({ role: 'assistant', content: null })),
        ...deltas.map((delta) => sse.frame(sse.chunk({ tool_calls: [delta] }))),
        sse.frame(sse.chunk({}, { finish: 'tool_calls' })) + sse.done,
      );
      suite.provider('acme').answer(streamed);
      const { chunks, done } = readStream(await askFor({ tools: [weather], stream: true }));
      expect(done).toBe(true);
      // The name comes with the first arguments: some providers send it late or in pieces.
      expect(chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])).toEqual([
        { ...deltas[0], function: { name: 'get_weather', arguments: '{"ci' } },
        deltas[2],
      ]);
      expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toContain('tool_calls');
    });

    it('tool loops of several turns work', async () => {
      const messages = [
        ...hello,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: '{"celsius":-3}' },
      ];
      const answer = await askFor({ messages, tools: [weather] });
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().body.messages).toEqual(messages);
    });

    it.each([
      ['json_object', { type: 'json_object' }],
      ['json_schema', schema],
    ])('response_format %s is forwarded', async (_, response_format) => {
      const answer = await askFor({ response_format });
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().body.response_format).toEqual(response_format);
    });

    it('a route without tools does not serve a request with tools', async () => {
      expectError(await askFor({ model: 'acme/plain', tools: [weather] }), 400, 'no_provider_route');
      expect(suite.asked).toBe(0);
    });

    it.each([
      ['transforms', ['middle-out']],
      ['route', 'fallback'],
      ['usage', { include: true }],
      ['plugins', [{ id: 'web' }]],
      ['logprobs', true],
      ['top_logprobs', 3],
      ['logit_bias', { '50256': -100 }],
      ['functions', [{ name: 'f', parameters: {} }]],
      ['function_call', 'auto'],
    ])('%s is accepted, ignored and not forwarded', async (name, value) => {
      const answer = await askFor({ [name]: value });
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().body).not.toHaveProperty(name);
    });

    it('unknown fields at any depth of a chat body are ignored and not forwarded', async () => {
      const answer = await askFor({
        canary_field: 'CANARY',
        metadata: { who: 'CANARY' },
        store: true,
        service_tier: 'CANARY',
        prompt_cache_key: 'CANARY',
        safety_identifier: 'CANARY',
        web_search_options: { CANARY: 1 },
        bogus_parameters: { CANARY: 1 },
        stream_options: { include_usage: true, CANARY: 1 },
        stream: true,
        messages: [{ role: 'user', content: 'hi', canary: 'CANARY' }],
      });
      expect(answer.status, answer.text).toBe(200);
      expect(suite.lastSeen().text).not.toContain('CANARY');
      expect(suite.lastSeen().body).not.toHaveProperty('metadata');
      expect(suite.lastSeen().body.store ?? false).toBe(false);
    });

    it('n = 1 is accepted', async () => {
      expect((await askFor({ n: 1 })).status).toBe(200);
    });

    it('n above 1 is 400', async () => {
      expectError(await askFor({ n: 2 }), 400, 'invalid_request', 'n');
      expect(suite.asked).toBe(0);
    });

    it('a prompt that is too long for every route is context_too_large', async () => {
      // Every tokenizer counts far more than 8,000 tokens here.
      const messages = [{ role: 'user', content: 'A quick brown fox! '.repeat(8_000) }];
      const answer = await askFor({ messages });
      expectError(answer, 400, 'context_too_large');
      // Clients recognise it by this code, or by these words.
      expect(answer.error).toMatchObject({
        code: 'context_length_exceeded',
        message: expect.stringMatching(/^This model's maximum context length is 8000 tokens/),
      });
      expect(suite.asked).toBe(0);
    });
  });

  describe('chat body, wrong shapes', () => {
    it.each<[string, object, string]>([
      ['no messages', { messages: undefined }, 'messages'],
      ['an empty list of messages', { messages: [] }, 'messages'],
      ['messages that are no list', { messages: 'hi' }, 'messages'],
      ['a message that is no object', { messages: ['hi'] }, 'messages'],
      ['a message without a role', { messages: [{ content: 'hi' }] }, 'messages'],
      ['an unknown role', { messages: [{ role: 'wizard', content: 'hi' }] }, 'messages'],
      ['content that is a number', { messages: [{ role: 'user', content: 5 }] }, 'messages'],
      ['a tool message without tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }, 'messages'],
      ['no model', { model: undefined }, 'model'],
      ['a model that is no string', { model: 5 }, 'model'],
      ['an empty model', { model: '' }, 'model'],
      ['a temperature that is a string', { temperature: 'hot' }, 'temperature'],
      ['max_tokens below zero', { max_tokens: -1 }, 'max_tokens'],
      ['max_tokens that is a fraction', { max_tokens: 1.5 }, 'max_tokens'],
      ['max_tokens beyond every integer', { max_tokens: 1e300 }, 'max_tokens'],
      ['stream that is a string', { stream: 'true' }, 'stream'],
      ['stream_options that is a string', { stream: true, stream_options: 'x' }, 'stream_options'],
      ['tools that is no list', { tools: { type: 'function' } }, 'tools'],
      ['a tool without a function', { tools: [{ type: 'function' }] }, 'tools'],
      ['a response_format that is a string', { response_format: 'json' }, 'response_format'],
      ['a user that is a number', { user: 5 }, 'user'],
      ['models that is no list', { models: 'acme/small' }, 'models'],
    ])('%s is 400 invalid_request and names the field', async (_, body, field) => {
      const answer = await ask(suite.service, key(), { model, ...body });
      expectError(answer, 400, 'invalid_request');
      expect(JSON.stringify(answer.json)).toMatch(new RegExp(`"param":"${field}(["[.]|$)`));
      expect(suite.asked).toBe(0);
    });
  });
};
