/** Fields of a chat body that a provider may refuse, in the field's standard names (OpenRouter's `supported_parameters`). */
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

/** The parameters with a value that can be brought into a range. */
export const rangedParameters = ['temperature', 'top_p', 'frequency_penalty', 'presence_penalty'] as const;
export type RangedParameter = (typeof rangedParameters)[number];

/**
 * Names that lists of models carry beside ours. They are kept as facts and decide nothing: the output ceiling is always
 * sent, and what else stands here is no field of the interface.
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
