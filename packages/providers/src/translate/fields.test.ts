import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChatTarget } from '../adapter.ts';
import { loadAdapter } from '../load-adapter.ts';
import { chat, target } from '../testing/fixtures.ts';

/** What is sent: members that it has; `absent`: a text that is nowhere in it; or the field over which it is refused. */
type Expected = { readonly has?: object; readonly absent?: string } | { readonly refused: string };

interface Row {
  readonly field: string;
  readonly body: object;
  readonly target?: Partial<ChatTarget>;
  /** Default `claude-opus-4-6` and the like: models that take most. */
  readonly models?: Partial<Record<Column, string>>;
  readonly openai: Expected;
  readonly anthropic: Expected;
  readonly google: Expected;
  readonly bedrock: Expected;
}

const columns = ['openai', 'anthropic', 'google', 'bedrock'] as const;
type Column = (typeof columns)[number];

const models: Readonly<Record<Column, string>> = {
  openai: 'gpt-5',
  anthropic: 'claude-opus-4-6',
  google: 'gemini-3-pro',
  bedrock: 'us.anthropic.claude-opus-4-6-v1:0',
};

const hi = { role: 'user', content: 'hi' };
const tool = {
  type: 'function',
  function: { name: 'f', description: 'd', parameters: { type: 'object', properties: {} } },
};
const call = (args = '{"x":1}') => ({ id: 'c1', type: 'function', function: { name: 'f', arguments: args } });
const loop = [
  hi,
  { role: 'assistant', content: null, tool_calls: [call()] },
  { role: 'tool', tool_call_id: 'c1', content: 'r' },
];
const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const image = (url: string) => ({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
const imageParam = 'messages.0.content.0.image_url.url';
const schema = {
  type: 'object',
  properties: { n: { type: 'integer', minimum: 3 } },
  required: ['n'],
  additionalProperties: false,
};
const loose = { ...schema, properties: { n: { type: 'integer' } } };
const named = { name: 'verdict', description: 'what it is', schema };
const cache_control = { type: 'ephemeral', ttl: '1h' };
const cached = {
  messages: [
    { role: 'system', content: [{ type: 'text', text: 's', cache_control }] },
    { role: 'user', content: [{ type: 'text', text: 'u', cache_control }] },
  ],
  tools: [{ ...tool, cache_control }],
};
const details = [
  { type: 'reasoning.text', text: 'hm', signature: 'SIGNED', format: 'anthropic-claude-v1', index: 0 },
  { type: 'reasoning.encrypted', data: 'R09PR0xF', format: 'google-gemini-v1', id: 'c1' },
];
const thought = [
  hi,
  { role: 'assistant', content: null, reasoning: 'THOUGHT', reasoning_details: details, tool_calls: [call()] },
  { role: 'tool', tool_call_id: 'c1', content: 'r' },
];
const choice = { type: 'function', function: { name: 'f' } };

const rows: readonly Row[] = [
  {
    field: 'system and developer messages',
    body: { messages: [{ role: 'system', content: 'a' }, hi, { role: 'developer', content: 'b' }] },
    openai: { has: { messages: [{ role: 'system', content: 'a' }, hi, { role: 'developer', content: 'b' }] } },
    anthropic: {
      has: {
        system: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
        messages: [{ role: 'user' }],
      },
    },
    google: { has: { systemInstruction: { parts: [{ text: 'a' }, { text: 'b' }] }, contents: [{ role: 'user' }] } },
    bedrock: { has: { system: [{ text: 'a' }, { text: 'b' }], messages: [{ role: 'user' }] } },
  },
  {
    field: 'messages in a row of one side',
    body: { messages: [hi, { role: 'user', content: 'you' }] },
    openai: { has: { messages: [hi, { role: 'user', content: 'you' }] } },
    anthropic: { has: { messages: [{ role: 'user', content: [{ text: 'hi' }, { text: 'you' }] }] } },
    google: { has: { contents: [{ role: 'user', parts: [{ text: 'hi' }, { text: 'you' }] }] } },
    bedrock: { has: { messages: [{ role: 'user', content: [{ text: 'hi' }, { text: 'you' }] }] } },
  },
  {
    field: 'image by data URL',
    body: image('data:image/png;base64,AAAA'),
    openai: { has: image('data:image/png;base64,AAAA') },
    anthropic: {
      has: {
        messages: [{ content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }] }],
      },
    },
    google: { has: { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }] } },
    bedrock: { has: { messages: [{ content: [{ image: { format: 'png', source: { bytes: 'AAAA' } } }] }] } },
  },
  {
    field: 'image by https URL',
    body: image('https://pictures.example/1.png'),
    openai: { has: image('https://pictures.example/1.png') },
    anthropic: {
      has: {
        messages: [{ content: [{ type: 'image', source: { type: 'url', url: 'https://pictures.example/1.png' } }] }],
      },
    },
    google: { refused: imageParam },
    bedrock: { refused: imageParam },
  },
  {
    field: 'images in tool results',
    body: {
      messages: [...loop.slice(0, -1), { ...loop.at(-1), content: [{ type: 'text', text: 'r' }, shown] }],
      tools: [tool],
    },
    openai: {
      has: {
        messages: [
          ...loop.slice(0, -1),
          { ...loop.at(-1), content: [{ type: 'text', text: 'r' }] },
          { role: 'user', content: [{ type: 'text' }, shown] },
        ],
      },
    },
    anthropic: { has: { messages: [{}, {}, { content: [{ type: 'tool_result', content: 'r' }, { type: 'image' }] }] } },
    google: { has: { contents: [{}, {}, { parts: [{ functionResponse: {} }, { inlineData: { data: 'AAAA' } }] }] } },
    bedrock: { has: { messages: [{}, {}, { content: [{ toolResult: {} }, { image: { format: 'png' } }] }] } },
  },
  {
    field: 'tool calls and results',
    body: { messages: loop, tools: [tool] },
    openai: { has: { messages: loop } },
    anthropic: {
      has: {
        messages: [
          {},
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { x: 1 } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'r' }] },
        ],
      },
    },
    google: {
      has: {
        contents: [
          {},
          { role: 'model', parts: [{ functionCall: { name: 'f', args: { x: 1 } } }] },
          { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'r' } } }] },
        ],
      },
    },
    bedrock: {
      has: {
        messages: [
          {},
          { role: 'assistant', content: [{ toolUse: { toolUseId: 'c1', name: 'f', input: { x: 1 } } }] },
          { role: 'user', content: [{ toolResult: { toolUseId: 'c1', content: [{ text: 'r' }] } }] },
        ],
      },
    },
  },
  {
    field: 'tool arguments that are no JSON object',
    body: { messages: [hi, { role: 'assistant', tool_calls: [call('{"x')] }, loop[2]], tools: [tool] },
    openai: { has: { messages: [{}, { tool_calls: [call('{"x')] }, {}] } },
    anthropic: { refused: 'messages.1.tool_calls.0.function.arguments' },
    google: { refused: 'messages.1.tool_calls.0.function.arguments' },
    bedrock: { refused: 'messages.1.tool_calls.0.function.arguments' },
  },
  {
    field: '`name` of a message',
    body: { messages: [{ ...hi, name: 'ANNA' }] },
    openai: { has: { messages: [{ name: 'ANNA' }] } },
    anthropic: { absent: 'ANNA' },
    google: { absent: 'ANNA' },
    bedrock: { absent: 'ANNA' },
  },
  {
    field: '`cache_control`',
    body: cached,
    openai: { absent: 'ephemeral' },
    anthropic: {
      has: {
        system: [{ text: 's', cache_control: { type: 'ephemeral' } }],
        messages: [{ content: [{ text: 'u', cache_control: { type: 'ephemeral' } }] }],
        tools: [{ name: 'f', cache_control: { type: 'ephemeral' } }],
      },
      absent: '1h',
    },
    google: { absent: 'ephemeral' },
    bedrock: {
      has: {
        system: [{ text: 's' }, { cachePoint: { type: 'default' } }],
        messages: [{ content: [{ text: 'u' }, { cachePoint: { type: 'default' } }] }],
        toolConfig: { tools: [{ toolSpec: { name: 'f' } }, { cachePoint: { type: 'default' } }] },
      },
      absent: '1h',
    },
  },
  {
    field: '`reasoning_details` of earlier answers',
    body: { messages: thought, tools: [tool] },
    openai: { absent: 'SIGNED' },
    anthropic: {
      has: {
        messages: [
          {},
          { content: [{ type: 'thinking', thinking: 'hm', signature: 'SIGNED' }, { type: 'tool_use' }] },
          {},
        ],
      },
      absent: 'R09PR0xF',
    },
    google: {
      has: { contents: [{}, { parts: [{ functionCall: { name: 'f' }, thoughtSignature: 'R09PR0xF' }] }, {}] },
      absent: 'SIGNED',
    },
    bedrock: {
      has: {
        messages: [
          {},
          { content: [{ reasoningContent: { reasoningText: { text: 'hm', signature: 'SIGNED' } } }, {}] },
          {},
        ],
      },
      absent: 'R09PR0xF',
    },
  },
  {
    field: '`reasoning` of earlier answers',
    body: { messages: thought, tools: [tool] },
    target: { dialect: { ...target().dialect, reasoning_field: 'reasoning_content' } },
    openai: { has: { messages: [{}, { reasoning_content: 'THOUGHT' }, {}] } },
    anthropic: { absent: 'THOUGHT' },
    google: { absent: 'THOUGHT' },
    bedrock: { absent: 'THOUGHT' },
  },
  {
    field: '`max_tokens`',
    body: { max_completion_tokens: 5 },
    target: { maxOutputTokens: 77 },
    openai: { has: { max_tokens: 77 } },
    anthropic: { has: { max_tokens: 77 } },
    google: { has: { generationConfig: { maxOutputTokens: 77 } } },
    bedrock: { has: { inferenceConfig: { maxTokens: 77 } } },
  },
  {
    field: '`temperature`',
    body: { temperature: 1.5 },
    openai: { has: { temperature: 1.5 } },
    anthropic: { has: { temperature: 1 } },
    google: { has: { generationConfig: { temperature: 1.5 } } },
    bedrock: { has: { inferenceConfig: { temperature: 1 } } },
  },
  {
    field: '`temperature`',
    body: { temperature: 0.5 },
    models: { anthropic: 'claude-opus-5', bedrock: 'us.anthropic.claude-opus-5' },
    openai: { has: { temperature: 0.5 } },
    anthropic: { absent: 'temperature' },
    google: { has: { generationConfig: { temperature: 0.5 } } },
    bedrock: { absent: 'temperature' },
  },
  {
    field: '`top_p`',
    body: { top_p: 0.5, temperature: 0 },
    models: { bedrock: 'meta.llama4' },
    openai: { has: { top_p: 0.5 } },
    anthropic: { has: { temperature: 0 }, absent: 'top_p' },
    google: { has: { generationConfig: { topP: 0.5 } } },
    bedrock: { has: { inferenceConfig: { topP: 0.5, temperature: 0 } } },
  },
  {
    field: '`stop`',
    body: { stop: 'END' },
    openai: { has: { stop: 'END' } },
    anthropic: { has: { stop_sequences: ['END'] } },
    google: { has: { generationConfig: { stopSequences: ['END'] } } },
    bedrock: { has: { inferenceConfig: { stopSequences: ['END'] } } },
  },
  {
    field: '`stop`',
    body: { stop: ['1', '2', '3', '4', '5', '6'] },
    openai: { has: { stop: ['1', '2', '3', '4', '5', '6'] } },
    anthropic: { has: { stop_sequences: ['1', '2', '3', '4', '5', '6'] } },
    google: { refused: 'stop' },
    bedrock: { has: { inferenceConfig: { stopSequences: ['1', '2', '3', '4', '5', '6'] } } },
  },
  {
    field: '`tools`',
    body: {
      tools: [
        { type: 'function', function: { name: 'f' } },
        { type: 'function', function: { name: 'g', parameters: {} } },
      ],
    },
    openai: { has: { tools: [{ function: { name: 'f' } }, { function: { name: 'g' } }] } },
    anthropic: { has: { tools: [{ input_schema: { type: 'object' } }, { input_schema: { type: 'object' } }] } },
    google: { has: { tools: [{ functionDeclarations: [{ name: 'f', description: '' }, { name: 'g' }] }] } },
    bedrock: { has: { toolConfig: { tools: [{}, { toolSpec: { inputSchema: { json: { type: 'object' } } } }] } } },
  },
  {
    field: '`seed`',
    body: { seed: 424_242 },
    openai: { has: { seed: 424_242 } },
    anthropic: { absent: '424242' },
    google: { has: { generationConfig: { seed: 424_242 } } },
    bedrock: { absent: '424242' },
  },
  {
    field: '`frequency_penalty`, `presence_penalty`',
    body: { frequency_penalty: 0.25, presence_penalty: -0.25 },
    openai: { has: { frequency_penalty: 0.25, presence_penalty: -0.25 } },
    anthropic: { absent: '0.25' },
    google: { has: { generationConfig: { frequencyPenalty: 0.25, presencePenalty: -0.25 } } },
    bedrock: { absent: '0.25' },
  },
  {
    field: '`top_k`',
    body: { top_k: 4242 },
    openai: { has: { top_k: 4242 } },
    anthropic: { has: { top_k: 4242 } },
    google: { has: { generationConfig: { topK: 4242 } } },
    bedrock: { absent: '4242' },
  },
  {
    field: '`min_p`, `repetition_penalty`',
    body: { min_p: 0.0625, repetition_penalty: 1.0625 },
    openai: { has: { min_p: 0.0625, repetition_penalty: 1.0625 } },
    anthropic: { absent: '0625' },
    google: { absent: '0625' },
    bedrock: { absent: '0625' },
  },
  {
    field: '`tools`',
    body: { tools: [tool] },
    openai: { has: { tools: [tool] } },
    anthropic: { has: { tools: [{ name: 'f', description: 'd', input_schema: { type: 'object' } }] } },
    google: {
      has: {
        tools: [{ functionDeclarations: [{ name: 'f', description: 'd', parametersJsonSchema: { type: 'object' } }] }],
      },
    },
    bedrock: {
      has: {
        toolConfig: {
          tools: [{ toolSpec: { name: 'f', description: 'd', inputSchema: { json: { type: 'object' } } } }],
        },
      },
    },
  },
  {
    field: '`tools`',
    body: { messages: loop },
    openai: { has: { messages: loop } },
    anthropic: { absent: 'input_schema' },
    google: { absent: 'functionDeclarations' },
    bedrock: { refused: 'tools' },
  },
  {
    field: '`tools`',
    body: { tools: [{ ...tool, function: { name: 'a.b' } }] },
    openai: { has: { tools: [{ function: { name: 'a.b' } }] } },
    anthropic: { refused: 'tools.0.function.name' },
    google: { has: { tools: [{ functionDeclarations: [{ name: 'a.b' }] }] } },
    bedrock: { refused: 'tools.0.function.name' },
  },
  {
    field: '`strict` of a tool',
    body: { tools: [{ ...tool, function: { ...tool.function, strict: true } }] },
    openai: { has: { tools: [{ function: { strict: true } }] } },
    anthropic: { has: { tools: [{ strict: true }] } },
    google: { has: { toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } } } },
    bedrock: { has: { toolConfig: { tools: [{ toolSpec: { strict: true } }] } } },
  },
  {
    field: '`tool_choice`',
    body: { tools: [tool], tool_choice: 'required' },
    openai: { has: { tool_choice: 'required' } },
    anthropic: { has: { tool_choice: { type: 'any' } } },
    google: { has: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } } },
    bedrock: { has: { toolConfig: { toolChoice: { any: {} } } } },
  },
  {
    field: '`tool_choice`',
    body: { tools: [tool], tool_choice: choice },
    openai: { has: { tool_choice: choice } },
    anthropic: { has: { tool_choice: { type: 'tool', name: 'f' } } },
    google: { has: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } } } },
    bedrock: { has: { toolConfig: { toolChoice: { tool: { name: 'f' } } } } },
  },
  {
    field: '`tool_choice`',
    body: { tools: [tool], tool_choice: 'auto' },
    openai: { has: { tool_choice: 'auto' } },
    anthropic: { has: { tool_choice: { type: 'auto' } } },
    google: { has: { toolConfig: { functionCallingConfig: { mode: 'AUTO' } } } },
    bedrock: { has: { toolConfig: { toolChoice: { auto: {} } } } },
  },
  {
    field: '`tool_choice`',
    body: { tools: [tool], tool_choice: 'none' },
    openai: { has: { tool_choice: 'none' } },
    anthropic: { has: { tool_choice: { type: 'none' } } },
    google: { has: { toolConfig: { functionCallingConfig: { mode: 'NONE' } } } },
    bedrock: { absent: 'toolConfig' },
  },
  {
    field: '`tool_choice`',
    body: { messages: loop, tools: [tool], tool_choice: 'none' },
    openai: { has: { tool_choice: 'none' } },
    anthropic: { has: { tool_choice: { type: 'none' } } },
    google: { has: { toolConfig: { functionCallingConfig: { mode: 'NONE' } } } },
    bedrock: { refused: 'tool_choice' },
  },
  {
    field: '`parallel_tool_calls: false`',
    body: { tools: [tool], parallel_tool_calls: false },
    openai: { has: { parallel_tool_calls: false } },
    anthropic: { has: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } } },
    google: { absent: 'arallel' },
    bedrock: { absent: 'arallel' },
  },
  {
    field: '`response_format: json_object`',
    body: { response_format: { type: 'json_object' } },
    openai: { has: { response_format: { type: 'json_object' } } },
    anthropic: { has: { system: [{ text: expect.stringContaining('JSON object') }] } },
    google: { has: { generationConfig: { responseMimeType: 'application/json' } } },
    bedrock: { has: { system: [{ text: expect.stringContaining('JSON object') }] } },
  },
  {
    field: '`response_format: json_schema`',
    body: { response_format: { type: 'json_schema', json_schema: named } },
    openai: { has: { response_format: { type: 'json_schema', json_schema: named } } },
    anthropic: { has: { output_config: { format: { type: 'json_schema', schema: loose } } } },
    google: { has: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } } },
    bedrock: {
      has: {
        outputConfig: {
          textFormat: {
            type: 'json_schema',
            structure: { jsonSchema: { name: 'verdict', description: 'what it is', schema: JSON.stringify(loose) } },
          },
        },
      },
    },
  },
  {
    field: 'reasoning effort',
    body: {},
    target: { reasoning: { effort: 'low' } },
    openai: { has: { reasoning_effort: 'low' } },
    anthropic: { has: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } } },
    google: { has: { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'low' } } } },
    bedrock: {
      has: { additionalModelRequestFields: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } } },
    },
  },
  {
    field: 'reasoning effort',
    body: {},
    target: { reasoning: { effort: 'high' }, maxOutputTokens: 10_000 },
    models: { anthropic: 'claude-sonnet-4-5', google: 'gemini-2.5-flash', bedrock: 'amazon.nova-2-lite-v1:0' },
    openai: { has: { reasoning_effort: 'high' } },
    anthropic: { has: { thinking: { type: 'enabled', budget_tokens: 8000 } } },
    google: { has: { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 8_000 } } } },
    bedrock: {
      has: { additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } } },
    },
  },
  {
    field: 'reasoning effort',
    body: {},
    target: { reasoning: { effort: 'high' } },
    models: { bedrock: 'openai.gpt-oss-120b-1:0' },
    openai: { has: { reasoning_effort: 'high' } },
    anthropic: { has: { output_config: { effort: 'high' } } },
    google: { has: { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } } },
    bedrock: { has: { additionalModelRequestFields: { reasoning_effort: 'high' } } },
  },
  {
    field: '`reasoning.enabled: false`',
    body: {},
    target: { reasoning: 'off' },
    openai: { has: { reasoning_effort: 'none' } },
    anthropic: { has: { thinking: { type: 'disabled' } } },
    google: { has: { generationConfig: { thinkingConfig: { thinkingLevel: 'minimal' } } } },
    bedrock: { has: { additionalModelRequestFields: { thinking: { type: 'disabled' } } } },
  },
  {
    field: '`reasoning.enabled: false`',
    body: {},
    target: { reasoning: 'off' },
    models: { google: 'gemini-2.5-flash', bedrock: 'amazon.nova-2-lite-v1:0' },
    openai: { has: { reasoning_effort: 'none' } },
    anthropic: { has: { thinking: { type: 'disabled' } } },
    google: { has: { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } } },
    bedrock: { has: { additionalModelRequestFields: { reasoningConfig: { type: 'disabled' } } } },
  },
  {
    field: '`user`',
    body: { user: 'USER-7' },
    openai: { has: { user: 'USER-7' } },
    anthropic: { has: { metadata: { user_id: 'USER-7' } } },
    google: { absent: 'USER-7' },
    bedrock: { absent: 'USER-7' },
  },
  {
    field: 'parameters for the provider',
    body: { user: 'u' },
    target: {
      extraBody: {
        top_k: 7,
        generationConfig: { topK: 7, maxOutputTokens: 999_999, candidateCount: 9 },
        additionalModelRequestFields: { top_k: 7 },
      },
    },
    openai: { has: { top_k: 7, max_tokens: 1000 } },
    anthropic: { has: { top_k: 7, max_tokens: 1000 } },
    google: { has: { generationConfig: { topK: 7, maxOutputTokens: 1000 } }, absent: 'candidateCount' },
    bedrock: { has: { additionalModelRequestFields: { top_k: 7 }, inferenceConfig: { maxTokens: 1000 } } },
  },
];

describe.each(columns)('what becomes of each field, at %s', (column) => {
  it.each(rows.map((row) => ({ name: row.field, row })))('$name', async ({ row }) => {
    const adapter = await loadAdapter(column);
    const expected = row[column];
    const upstreamModel = row.models?.[column] ?? models[column];
    const request = adapter.chatRequest(chat(row.body), target({ upstreamModel, ...row.target }));
    if ('refused' in expected) {
      expect(request).toEqual({
        unsupported: expect.stringContaining(`\`${expected.refused}\``),
        param: expected.refused,
      });
      return;
    }
    if ('unsupported' in request) throw new Error(request.unsupported);
    expect(JSON.parse(request.body)).toMatchObject(expected.has ?? {});
    if (expected.absent !== undefined) expect(request.body).not.toContain(expected.absent);
  });
});

it('every row of the guide is tested, and every test has its row', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guides/providers.md'), 'utf8');
  const table = guide.slice(guide.indexOf('| field | openai, azure |')).split('\n\n')[0]?.split('\n').slice(2) ?? [];
  const documented = table.map((line) => line.split('|')[1]?.trim());
  expect(documented.length).toBeGreaterThan(20);
  expect(new Set(documented)).toEqual(new Set(rows.map(({ field }) => field)));
});
