/** Fields of a chat body that a provider may refuse, by the names in OpenRouter's `supported_parameters`. */
export const chatParameters = [
  'temperature',
  'top_p',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'top_k',
  'min_p',
  'response_format',
  'structured_outputs',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning_effort',
] as const;
export type ChatParameter = (typeof chatParameters)[number];

/** The parameters whose values can be limited to a range. */
export const rangedParameters = ['temperature', 'top_p', 'frequency_penalty', 'presence_penalty'] as const;
export type RangedParameter = (typeof rangedParameters)[number];

/**
 * Further names in lists of models. The catalog keeps them, but they decide nothing. The broker always sends an output
 * ceiling. The other names are not fields of the API.
 */
const otherParameters = [
  'max_tokens',
  'max_completion_tokens',
  'reasoning',
  'include_reasoning',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'top_a',
  'prediction',
  'verbosity',
  'web_search_options',
  'user',
] as const;

export const knownParameters: ReadonlySet<string> = new Set([...chatParameters, ...otherParameters]);
