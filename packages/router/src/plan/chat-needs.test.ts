import { type ChatRequest, chatRequestSchema, embeddingsRequestSchema } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxSchemaBytes, measureChat, measureEmbeddings, requestedOutputTokens } from './chat-needs.ts';

const chat = (changes: object = {}): ChatRequest =>
  chatRequestSchema.parse({ model: 'lab/one', messages: [{ role: 'user', content: 'Hello' }], ...changes });
const measure = (changes: object = {}, output?: number) => measureChat(chat(changes), output);
const atMost = (changes: object): number => measure(changes).size.promptTokensAtMost;
const says = (content: unknown, more: object = {}) => ({ messages: [{ role: 'user', content, ...more }] });
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
const image = { type: 'image_url', image_url: { url: 'https://images.example/1.png' } };

describe('requestedOutputTokens', () => {
  it('reads `max_tokens` and `max_completion_tokens` as aliases', () => {
    expect(requestedOutputTokens(chat({ max_tokens: 5 }))).toBe(5);
    expect(requestedOutputTokens(chat({ max_completion_tokens: 6 }))).toBe(6);
    expect(requestedOutputTokens(chat({ max_tokens: 7, max_completion_tokens: 7 }))).toBe(7);
    expect(requestedOutputTokens(chat({ max_tokens: null, max_completion_tokens: 8 }))).toBe(8);
    expect(requestedOutputTokens(chat())).toBeUndefined();
  });

  it('finds a conflict where both are sent with different values', () => {
    expect(requestedOutputTokens(chat({ max_tokens: 5, max_completion_tokens: 6 }))).toBe('conflict');
  });
});

describe('measureChat: what a request needs', () => {
  it('is nothing in particular for plain text', () => {
    expect(measure().needs).toMatchObject({
      modelType: 'text',
      tools: false,
      vision: false,
      structuredOutput: false,
      optionalParameters: [],
      reasoningEffort: undefined,
      reasoningDisabled: false,
      maxOutputTokens: undefined,
      encrypted: false,
    });
  });

  it('is tools, unless the request forbids their use', () => {
    expect(measure({ tools: [tool] }).needs.tools).toBe(true);
    expect(measure({ tools: [tool], tool_choice: 'none' }).needs.tools).toBe(false);
    expect(measure({ tools: [] }).needs.tools).toBe(false);
  });

  it('is vision where a part is an image', () => {
    expect(measure(says([{ type: 'text', text: 'What is this?' }, image])).needs.vision).toBe(true);
    expect(measure(says([{ type: 'text', text: 'What is this?' }])).needs.vision).toBe(false);
  });

  it('tells a schema, which is required, from `json_object`, which is optional', () => {
    const schema = { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } };
    expect(measure({ response_format: schema }).needs).toMatchObject({
      structuredOutput: true,
      optionalParameters: [],
    });
    const object = { response_format: { type: 'json_object' } };
    expect(measure(object).needs).toMatchObject({ structuredOutput: false, optionalParameters: ['response_format'] });
    const text = { response_format: { type: 'text' } };
    expect(measure(text).needs).toMatchObject({ structuredOutput: false, optionalParameters: [] });
  });

  it('is the reasoning selection, in either spelling', () => {
    expect(measure({ reasoning_effort: 'low' }).needs.reasoningEffort).toBe('low');
    expect(measure({ reasoning: { effort: 'high' } }).needs.reasoningEffort).toBe('high');
    expect(measure({ reasoning: { enabled: false } }).needs.reasoningDisabled).toBe(true);
    expect(measure({ reasoning: { enabled: true } }).needs.reasoningDisabled).toBe(false);
  });

  it.each([
    ['two efforts', { reasoning_effort: 'low', reasoning: { effort: 'high' } }],
    ['an effort that is switched off', { reasoning_effort: 'low', reasoning: { enabled: false } }],
    ['no effort that is switched on', { reasoning: { effort: 'none', enabled: true } }],
  ])('refuses %s', (_, contradiction) => {
    expect(() => measure(contradiction)).toThrow(/Send one of them/);
  });

  it('carries the output ceiling into both, needs and size', () => {
    const { needs, size } = measure({}, 77);
    expect([needs.maxOutputTokens, size.maxOutputTokens]).toEqual([77, 77]);
  });
});

describe('measureChat: how large a request can be', () => {
  it('counts the reasoning of earlier answers for the bound, and not for context windows', () => {
    const text = 'x'.repeat(4000);
    const details = [
      { type: 'reasoning.text', text, signature: text, format: 'anthropic-claude-v1' },
      { type: 'reasoning.encrypted', data: text, format: 'google-gemini-v1' },
    ];
    const answered = (more: object) => ({ messages: [{ role: 'assistant', content: 'ok', ...more }] });
    const plain = measure(answered({}));
    const thought = measure(answered({ reasoning: text, reasoning_details: details }));
    expect(thought.size.promptTokensAtMost).toBeGreaterThanOrEqual(plain.size.promptTokensAtMost + 4 * 4000);
    expect(thought.size.promptTokensLikely).toBe(plain.size.promptTokensLikely);
    expect(thought.needs.promptTokens).toBe(plain.needs.promptTokens);
  });

  it('counts bytes, not characters', () => {
    expect(atMost(says('ä'.repeat(100))) - atMost(says('a'.repeat(100)))).toBe(100);
    expect(atMost(says('🙂')) - atMost(says(''))).toBe(4);
  });

  it.each([
    ['text parts', says([{ type: 'text', text: 'x'.repeat(1000) }])],
    ['a name', says('Hello', { name: 'x'.repeat(64) })],
    ['tools', { tools: [{ ...tool, function: { ...tool.function, description: 'x'.repeat(1000) } }] }],
    [
      'a schema',
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', schema: { description: 'x'.repeat(1000) } },
        },
      },
    ],
    [
      'a refusal part',
      { messages: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'x'.repeat(1000) }] }] },
    ],
    ['a refusal', { messages: [{ role: 'assistant', content: null, refusal: 'x'.repeat(1000) }] }],
    ['a tool’s answer', { messages: [{ role: 'tool', content: 'x'.repeat(900), tool_call_id: 'y'.repeat(100) }] }],
    [
      'a tool call',
      {
        messages: [
          {
            role: 'assistant',
            tool_calls: [
              {
                id: 'i'.repeat(100),
                type: 'function',
                function: { name: 'n'.repeat(100), arguments: 'x'.repeat(800) },
              },
            ],
          },
        ],
      },
    ],
  ])('counts every byte of %s', (_, changes) => {
    const content =
      JSON.stringify(changes)
        .match(/x{10,}|y{10,}|i{10,}|n{10,}/g)
        ?.join('') ?? '';
    expect(content.length).toBeGreaterThanOrEqual(64);
    const without = JSON.parse(JSON.stringify(changes).replace(/x{10,}|y{10,}|i{10,}|n{10,}/g, 'z'));
    const pieces = JSON.stringify(changes).match(/x{10,}|y{10,}|i{10,}|n{10,}/g)?.length ?? 0;
    expect(atMost(changes) - atMost(without)).toBe(content.length - pieces);
  });

  it('allows for what templates add around messages, tools, tool calls and images', () => {
    const one = { role: 'user', content: '' };
    expect(atMost({ messages: [one] })).toBeGreaterThan(0);
    expect(atMost({ messages: [one, one] })).toBeGreaterThan(atMost({ messages: [one] }));
    expect(atMost({ tools: [tool] })).toBeGreaterThan(JSON.stringify(tool).length + atMost({}));
    expect(atMost({ tools: Array(9).fill(tool) }) - atMost({ tools: [tool] })).toBeGreaterThan(8 * 512);
    expect(atMost(says([image])) - atMost(says(''))).toBeGreaterThan(10_000);
    expect(measure(says([image])).needs.promptTokens).toBeGreaterThanOrEqual(1000);
  });

  it('counts schemas with references a second time, written out, and text beside them too', () => {
    const item = { description: 'x'.repeat(1000) };
    const properties = { a: { $ref: '#/$defs/i' }, b: { $ref: '#/$defs/i' } };
    const f = { name: 'f', description: 'd'.repeat(5000), parameters: { $defs: { i: item }, properties } };
    const tools = [{ type: 'function', function: f }];
    expect(atMost({ tools })).toBeGreaterThan(JSON.stringify(tools).length + 3000);
    expect(atMost({ tools })).toBeLessThan(15_000);
    const schema = { items: { $ref: '#' } };
    const response_format = { type: 'json_schema', json_schema: { name: 'n', schema } };
    expect(atMost({ response_format })).toBeGreaterThan(2 ** 40);
  });

  it.each([
    ['tools', (text: string) => ({ tools: [{ ...tool, function: { ...tool.function, description: text } }] })],
    [
      'response_format',
      (text: string) => ({
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { description: text } } },
      }),
    ],
  ])('names %s whose schemas are too long to measure', (param, changes) => {
    expect(measure(changes('x'.repeat(maxSchemaBytes / 2))).oversized).toBeUndefined();
    expect(measure(changes('ü'.repeat(maxSchemaBytes / 2))).oversized).toMatchObject({ param });
  });

  it('estimates a token for every four bytes, and errs towards more where an answer must have room', () => {
    const { needs, size } = measure(says('x'.repeat(4000)));
    expect(needs.promptTokens).toBeGreaterThanOrEqual(1000);
    expect(needs.promptTokens).toBeLessThan(1050);
    expect(size.promptTokensLikely).toBeGreaterThanOrEqual(1334);
    expect(size.promptTokensLikely).toBeLessThan(1400);
  });

  it('bounds the prompt from above: the likely size and the bytes of the text are never more', () => {
    const message = fc.oneof(
      fc.record({ role: fc.constant('user'), content: fc.string({ unit: 'binary' }) }),
      fc.record({
        role: fc.constant('user'),
        content: fc.array(
          fc.oneof(fc.constant(image), fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) })),
          { minLength: 1 },
        ),
      }),
    );
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 5 }), (messages) => {
        const { needs, size } = measure({ messages });
        const texts = messages.flatMap(({ content }) =>
          typeof content === 'string' ? [content] : content.map((part) => ('text' in part ? part.text : '')),
        );
        expect(size.promptTokensAtMost).toBeGreaterThanOrEqual(Buffer.byteLength(texts.join('')));
        expect(size.promptTokensAtMost).toBeGreaterThanOrEqual(size.promptTokensLikely);
        expect(size.promptTokensLikely).toBeGreaterThanOrEqual(needs.promptTokens);
      }),
      { numRuns: 200 },
    );
  });
});

describe('measureEmbeddings', () => {
  const embed = (input: unknown) => measureEmbeddings(embeddingsRequestSchema.parse({ model: 'lab/embed', input }));

  it('needs an embedding model, and each input meets the window on its own', () => {
    expect(embed('x'.repeat(400)).needs).toMatchObject({ modelType: 'embedding', promptTokens: 100 });
    expect(embed(['x'.repeat(40), 'x'.repeat(400), 'x']).needs.promptTokens).toBe(100);
    expect(embed([[1, 2, 3], [4]]).needs.promptTokens).toBe(3);
  });

  it('counts all inputs together for the hold: texts by their bytes, tokens as they are', () => {
    const grown = (small: unknown, large: unknown) =>
      embed(large).size.promptTokensAtMost - embed(small).size.promptTokensAtMost;
    expect(grown('a', 'ä')).toBe(1);
    expect(grown(['a', 'b'], ['aaa', 'bbb'])).toBe(4);
    expect(grown([1], [1, 2, 3])).toBe(2);
    expect(grown([[1]], [[1], [2, 3]])).toBeGreaterThanOrEqual(2);
    expect(embed([[1, 2], [3]]).size.promptTokensLikely).toBe(3);
  });

  it('asks for no output', () => {
    expect(embed('a').size.maxOutputTokens).toBeUndefined();
  });
});
