import { chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { models } from '../testing/answers.ts';
import { readGeminiRequest } from './read-request.ts';
import { countGeminiTokens, geminiCall } from './translate.ts';

const hi = { role: 'user', parts: [{ text: 'hi' }] };
const read = (more: object = {}) =>
  readGeminiRequest(
    { contents: [hi], ...more },
    { model: 'acme/small', method: 'generateContent', sse: false },
    models,
  );
/** The chat request, as the service parses it. */
const chat = (more: object = {}) => {
  const { body } = read(more);
  chatRequestSchema.parse(body);
  return body;
};
const config = (generationConfig: object) => chat({ generationConfig });
const refusal = (more: object): unknown => {
  try {
    return read(more);
  } catch (error) {
    return error;
  }
};

describe('a request of the Gemini API', () => {
  it('becomes a chat request', () => {
    expect(
      chat({
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        generationConfig: {
          ...{ temperature: 0.5, topP: 0.9, topK: 40, maxOutputTokens: 9000, stopSequences: ['END'], seed: 7 },
          ...{ presencePenalty: 0.1, frequencyPenalty: 0.2, candidateCount: 1 },
        },
        labels: { team: 'a' },
      }),
    ).toEqual({
      model: 'acme/small',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      // The most that the model can give.
      max_tokens: 8000,
      ...{ temperature: 0.5, top_p: 0.9, top_k: 40, stop: ['END'], seed: 7 },
      ...{ presence_penalty: 0.1, frequency_penalty: 0.2 },
    });
  });

  it('may name its fields in snake case, and send one content instead of a list', () => {
    const body = chat({
      contents: { parts: { inline_data: { mime_type: 'image/png', data: 'AAAA' } } },
      system_instruction: { parts: [{ text: 'Be brief.' }] },
      generation_config: { max_output_tokens: 5, response_mime_type: 'application/json' },
    });
    expect(body).toMatchObject({
      max_tokens: 5,
      response_format: { type: 'json_object' },
      messages: [
        { role: 'system' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
      ],
    });
  });

  it('turns calls and results into messages that belong together, with ids or without', () => {
    const { messages } = chat({
      contents: [
        hi,
        {
          role: 'model',
          parts: [
            { text: 'Two.' },
            { functionCall: { name: 'read', args: { path: 'a' } } },
            { functionCall: { name: 'read', args: { path: 'b' } } },
            { functionCall: { id: 'own', name: 'write' } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'own', name: 'write', response: { error: 'no disk' } } },
            { functionResponse: { name: 'read', response: { output: 'A' } } },
            {
              functionResponse: {
                name: 'read',
                response: { lines: 2 },
                parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
              },
            },
            { text: 'Go on.' },
          ],
        },
      ],
    });
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: 'Two.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
          { id: 'call_2', type: 'function', function: { name: 'read', arguments: '{"path":"b"}' } },
          { id: 'own', type: 'function', function: { name: 'write', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'own', content: 'Error: no disk' },
      { role: 'tool', tool_call_id: 'call_1', content: 'A' },
      {
        role: 'tool',
        tool_call_id: 'call_2',
        content: [
          { type: 'text', text: '{"lines":2}' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
      { role: 'user', content: 'Go on.' },
    ]);
  });

  it('passes on files that a chat can carry, and tells the model of those that it cannot', () => {
    const parts = [
      { inlineData: { mimeType: 'text/csv', data: Buffer.from('a,b').toString('base64') } },
      { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
      { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } },
    ];
    expect(chat({ contents: [{ role: 'user', parts }] }).messages[0]?.content).toEqual([
      { type: 'text', text: 'a,b' },
      { type: 'text', text: '[A document (application/pdf) was attached. This service cannot pass it on.]' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ]);
  });

  it('drops thoughts that another service signed, and keeps what was said', () => {
    const parts = [
      { text: 'I think.', thought: true, thoughtSignature: 'of-google' },
      { text: 'Said.', thoughtSignature: 'of-google' },
    ];
    expect(chat({ contents: [hi, { role: 'model', parts }, hi] }).messages[1]).toEqual({
      role: 'assistant',
      content: 'Said.',
    });
  });

  it('offers functions by either form of their schema', () => {
    const google = {
      type: 'OBJECT',
      properties: {
        tags: { type: 'ARRAY', items: { type: 'STRING' }, minItems: '1', nullable: true },
        // A property may have the name of a keyword.
        type: { type: 'STRING', enum: ['A'] },
        either: { anyOf: [{ type: 'INTEGER' }, { type: 'BOOLEAN' }] },
      },
      required: ['tags'],
      propertyOrdering: ['tags'],
    };
    const json = { type: 'object', properties: { a: { type: 'string' } } };
    const declarations = [
      { name: 'a', description: 'A.', parameters: google },
      { name: 'b', parametersJsonSchema: json },
    ];
    const { tools } = chat({ tools: [{ functionDeclarations: declarations }] });
    expect(tools?.map((tool) => tool.function)).toEqual([
      {
        name: 'a',
        description: 'A.',
        parameters: {
          type: 'object',
          properties: {
            tags: { type: ['array', 'null'], items: { type: 'string' }, minItems: 1 },
            type: { type: 'string', enum: ['A'] },
            either: { anyOf: [{ type: 'integer' }, { type: 'boolean' }] },
          },
          required: ['tags'],
        },
      },
      { name: 'b', parameters: json },
    ]);
  });

  it.each([
    [{ mode: 'ANY' }, { tool_choice: 'required' }, ['a', 'b']],
    [{ mode: 'ANY', allowedFunctionNames: ['b'] }, { tool_choice: 'required' }, ['b']],
    [{ mode: 'NONE' }, { tool_choice: 'none' }, ['a', 'b']],
    [{ mode: 'AUTO' }, {}, ['a', 'b']],
    [{}, {}, ['a', 'b']],
  ])('reads how functions may be called: %j', (functionCallingConfig, choice, names) => {
    const tools = [{ functionDeclarations: [{ name: 'a' }, { name: 'b' }] }, { googleSearch: {} }];
    const { body, notes } = read({ tools, toolConfig: { functionCallingConfig } });
    expect(body).toMatchObject(choice);
    expect(body.tools?.map((tool) => tool.function.name)).toEqual(names);
    expect(notes).toEqual(['Left out tools that only Google can run: googleSearch.']);
  });

  it.each([
    [{ thinkingBudget: 0 }, { reasoning: { enabled: false } }],
    [{ thinkingBudget: -1 }, { reasoning: { enabled: true } }],
    [{ thinkingBudget: 4000 }, { reasoning_effort: 'low' }],
    [{ thinkingBudget: 8192, includeThoughts: true }, { reasoning_effort: 'medium' }],
    [{ thinkingLevel: 'HIGH' }, { reasoning_effort: 'high' }],
  ])('turns a budget or a level of thoughts into a reasoning selection: %j', (thinkingConfig, selection) => {
    expect(config({ thinkingConfig })).toMatchObject(selection);
  });

  it('reads the schema of an answer', () => {
    const answer = (schema: object) => config({ responseMimeType: 'application/json', ...schema }).response_format;
    const json = { type: 'object', properties: {} };
    const expected = { type: 'json_schema', json_schema: { name: 'answer', schema: json } };
    expect(answer({ responseSchema: { type: 'OBJECT', properties: {} } })).toEqual(expected);
    expect(answer({ responseJsonSchema: json })).toEqual(expected);
  });

  it.each([
    [{ contents: [] }, /`contents` must be a list/],
    [{ cachedContent: 'cachedContents/a' }, /`cachedContent` .* send all in `contents`/],
    [
      { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_LOW_AND_ABOVE' }] },
      /`safetySettings` asks for `BLOCK_LOW_AND_ABOVE` for `HARM_CATEGORY_HARASSMENT`.*BLOCK_NONE/,
    ],
    [{ generationConfig: { candidateCount: 2 } }, /candidateCount` must be 1/],
    [{ generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } }, /asks for IMAGE. Only TEXT/],
    [{ generationConfig: { responseLogprobs: true } }, /no probabilities/],
    [{ generationConfig: { responseMimeType: 'text/x.enum' } }, /may be text\/plain or application\/json/],
    [{ tools: [{ googleSearch: {} }] }, /Only Google can run `googleSearch`/],
    [
      { toolConfig: { functionCallingConfig: { mode: 'X' } }, tools: [{ functionDeclarations: [{ name: 'a' }] }] },
      /mode` must be/,
    ],
    [
      {
        contents: [{ parts: [{ fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/a' } }] }],
      },
      /inlineData/,
    ],
    [{ contents: [{ parts: [{ functionResponse: { name: 'f', response: {} } }] }] }, /answers no call of `f`/],
  ])('refuses in words what it cannot meet: %j', (more, says) => {
    expect(refusal(more)).toMatchObject({ type: 'invalid_request', message: expect.stringMatching(says) });
  });

  it.each(['BLOCK_NONE', 'OFF'])('takes safety settings that filter nothing: %s', (threshold) => {
    expect(chat({ safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold }] })).toEqual(chat());
  });
});

it('counts the tokens of contents, or of a whole request', () => {
  expect(countGeminiTokens({ contents: [{ parts: [{ text: '12345678' }] }] })).toEqual({ totalTokens: 2 + 4 });
  const generateContentRequest = { contents: [hi], systemInstruction: { parts: [{ text: 'äöüß' }] } };
  expect(countGeminiTokens({ generateContentRequest })).toEqual({ totalTokens: 1 + 4 + 2 + 4 });
});

it.each([
  ['/v1beta/models/acme/small:generateContent', { model: 'acme/small', method: 'generateContent', sse: false }],
  ['/v1beta/models/a%2Fb:streamGenerateContent?alt=sse', { model: 'a/b', method: 'streamGenerateContent', sse: true }],
  ['/v1/models/a/b:nitro:countTokens', { model: 'a/b:nitro', method: 'countTokens', sse: false }],
  ['/v1/models/acme/small', undefined],
  ['/v1/chat/completions', undefined],
])('reads the path %s', (path, call) => {
  expect(geminiCall(path)).toEqual(call);
});
