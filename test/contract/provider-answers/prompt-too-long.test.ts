import { expect, it } from 'vitest';
import { type AdapterName, adapters } from '../dialects/pipeline.ts';

/** How providers say that a prompt is too long, in an answer with the status 400. */
const overflows: readonly (readonly [provider: string, api: AdapterName, body: object])[] = [
  ['OpenAI', 'openai', { error: { message: 'too long', code: 'context_length_exceeded' } }],
  [
    'Together',
    'openai',
    {
      error: {
        message:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`',
      },
    },
  ],
  [
    'SGLang',
    'openai',
    {
      object: 'error',
      message: "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
      code: 400,
    },
  ],
  [
    'Kimi',
    'openai',
    { error: { message: 'Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)' } },
  ],
  ['z.ai', 'openai', { error: { code: '1261', message: 'Prompt exceeds max length' } }],
  [
    'DashScope',
    'openai',
    {
      error: {
        code: 'invalid_parameter_error',
        message: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]',
      },
    },
  ],
  [
    'LM Studio',
    'openai',
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000>= n_ctx: 4096).',
    },
  ],
  [
    'LM Studio, later',
    'openai',
    {
      error: {
        message:
          'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
      },
    },
  ],
  [
    'Copilot',
    'openai',
    {
      error: {
        message: 'prompt token count of 200000 exceeds the limit of 128000',
        code: 'model_max_prompt_tokens_exceeded',
      },
    },
  ],
  [
    'Cohere',
    'openai',
    { message: 'too many tokens: size limit exceeded by 1000 tokens. Try using shorter or fewer inputs.' },
  ],
  [
    'Anthropic',
    'anthropic',
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' },
    },
  ],
  [
    'Anthropic, with the output',
    'anthropic',
    { error: { message: 'input length and `max_tokens` exceed context limit: 199234 + 20000 > 200000' } },
  ],
  [
    'Vertex',
    'google',
    {
      error: {
        code: 400,
        message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
      },
    },
  ],
  ['Bedrock', 'bedrock', { message: 'Input is too long for requested model.' }],
  [
    'Bedrock, of Claude',
    'bedrock',
    {
      message:
        'The model returned the following errors: input length and `max_tokens` exceed context limit: 199234 + 20000 > 200000',
    },
  ],
];
it.each(overflows)('a prompt that is too long is recognised in the words of %s', (_, api, body) => {
  expect(adapters[api].classifyFailure(400, Buffer.from(JSON.stringify(body)))).toBe('context_exceeded');
});

it.each([
  'max_tokens must be at most 8192',
  'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]',
  '`tools` has too many entries',
  'Rate limit reached: too many tokens per minute',
])('another bad request is none: %s', (text) => {
  for (const api of ['openai', 'anthropic', 'google', 'bedrock'] as const) {
    const body = api === 'bedrock' ? { message: text } : { error: { message: text } };
    expect(adapters[api].classifyFailure(400, Buffer.from(JSON.stringify(body)))).not.toBe('context_exceeded');
  }
});
