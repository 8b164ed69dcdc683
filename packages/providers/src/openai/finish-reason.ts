import type { FinishReason } from '@sotto/wire';

/** Marks an answer that the provider could not finish, even if it closed the stream properly. */
export const failedFinish = 'failed';

/** Providers' names for an end, in lower case. */
const known: ReadonlyMap<string, FinishReason | typeof failedFinish> = new Map([
  ['length', 'length'],
  ['model_length', 'length'],
  ['max_tokens', 'length'],
  ['max_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'function_call'],
  ['content_filter', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['safety', 'content_filter'],
  ['recitation', 'content_filter'],
  ['refusal', 'content_filter'],
  ['error', failedFinish],
  ['abort', failedFinish],
  ['network_error', failedFinish],
  ['insufficient_system_resource', failedFinish],
]);

/** Returns OpenAI's name for a provider's `finish_reason`. An unknown name counts as `stop`. */
export const readFinishReason = (said: string): FinishReason | typeof failedFinish =>
  known.get(said.toLowerCase()) ?? 'stop';
