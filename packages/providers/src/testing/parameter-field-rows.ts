import { expect } from 'vitest';
import { loop, type Row, tool } from './field-rows.ts';

const schema = {
  type: 'object',
  properties: { n: { type: 'integer', minimum: 3 } },
  required: ['n'],
  additionalProperties: false,
};
const loose = { ...schema, properties: { n: { type: 'integer' } } };
const named = { name: 'verdict', description: 'what it is', schema };
const choice = { type: 'function', function: { name: 'f' } };

const bounded = { type: 'object', properties: { n: { type: 'integer', minimum: 0 } }, required: ['n'] };

/** The fields beside the messages: sampling, tools, formats and reasoning. */
export const parameterFieldRows: readonly Row[] = [
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
    anthropic: { has: { temperature: 1 } },
    google: { has: { generationConfig: { temperature: 1.5 } } },
    bedrock: { has: { inferenceConfig: { temperature: 1 } } },
  },
  {
    field: '`temperature`',
    body: { temperature: 0.5 },
    models: { anthropic: 'claude-opus-5', bedrock: 'us.anthropic.claude-opus-5' },
    google: { has: { generationConfig: { temperature: 0.5 } } },
    others: { absent: 'temperature' },
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
    anthropic: { has: { stop_sequences: ['END'] } },
    google: { has: { generationConfig: { stopSequences: ['END'] } } },
    bedrock: { has: { inferenceConfig: { stopSequences: ['END'] } } },
  },
  {
    field: '`stop`',
    body: { stop: ['1', '2', '3', '4', '5', '6'] },
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
    google: { has: { generationConfig: { seed: 424_242 } } },
    others: { absent: '424242' },
  },
  {
    field: '`frequency_penalty`, `presence_penalty`',
    body: { frequency_penalty: 0.25, presence_penalty: -0.25 },
    google: { has: { generationConfig: { frequencyPenalty: 0.25, presencePenalty: -0.25 } } },
    others: { absent: '0.25' },
  },
  {
    field: '`top_k`',
    body: { top_k: 4242 },
    anthropic: { has: { top_k: 4242 } },
    google: { has: { generationConfig: { topK: 4242 } } },
    bedrock: { absent: '4242' },
  },
  {
    field: '`min_p`, `repetition_penalty`',
    body: { min_p: 0.0625, repetition_penalty: 1.0625 },
    others: { absent: '0625' },
  },
  {
    field: '`tools`',
    body: { tools: [tool] },
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
    anthropic: { absent: 'input_schema' },
    google: { absent: 'functionDeclarations' },
    bedrock: { refused: 'tools' },
  },
  {
    field: '`tools`',
    body: { tools: [{ ...tool, function: { name: 'a.b' } }] },
    openai: { has: { tools: [{ function: { name: 'a.b' } }] } },
    google: { has: { tools: [{ functionDeclarations: [{ name: 'a.b' }] }] } },
    others: { refused: 'tools.0.function.name' },
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
    field: '`strict` of a tool',
    body: { tools: [{ ...tool, function: { ...tool.function, strict: true, parameters: bounded } }] },
    anthropic: { has: { tools: [{ input_schema: { properties: { n: { type: 'integer' } } } }] }, absent: 'minimum' },
    google: { has: {} },
    bedrock: { has: { toolConfig: { tools: [{ toolSpec: { strict: true } }] } }, absent: 'minimum' },
  },
  {
    field: '`strict` of a tool',
    body: { tools: [{ ...tool, function: { ...tool.function, strict: true, parameters: bounded } }] },
    models: { bedrock: 'us.amazon.nova-pro-v1:0' },
    anthropic: { absent: 'minimum' },
    google: { has: {} },
    bedrock: {
      has: {
        toolConfig: {
          tools: [{ toolSpec: { inputSchema: { json: { properties: { n: { type: 'integer', minimum: 0 } } } } } }],
        },
      },
    },
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
    others: { absent: 'arallel' },
  },
  {
    field: '`response_format: json_object`',
    body: { response_format: { type: 'json_object' } },
    google: { has: { generationConfig: { responseMimeType: 'application/json' } } },
    others: { has: { system: [{ text: expect.stringContaining('JSON object') }] } },
  },
  {
    field: '`response_format: json_schema`',
    body: { response_format: { type: 'json_schema', json_schema: named } },
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
    anthropic: { has: { metadata: { user_id: 'USER-7' } } },
    others: { absent: 'USER-7' },
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
