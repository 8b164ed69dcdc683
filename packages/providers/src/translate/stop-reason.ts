import type { FinishReason } from '@sotto/wire';

const ofMessages: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/** Returns OpenAI's name for a `stop_reason` of the Messages API. Undefined for an unknown one. */
export const finishReasonOfMessages = (stopReason: string): FinishReason | undefined => ofMessages.get(stopReason);

const ofConverse: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
]);
/** Stop reasons of Converse that report a failure of the model. */
export const converseFailures: ReadonlySet<string> = new Set(['malformed_model_output', 'malformed_tool_use']);

/** Returns OpenAI's name for a `stopReason` of Converse. Undefined for an unknown one. */
export const finishReasonOfConverse = (stopReason: string): FinishReason | undefined => ofConverse.get(stopReason);

/** Whether an answer ended within what the model was writing, such as a call. */
export const isCutOff = (reason: FinishReason | undefined): boolean =>
  reason === 'length' || reason === 'content_filter';

/**
 * Returns the finish reason for clients. Undefined `said`: the provider gave none that we know, and said in another way that the
 * answer is whole. Agents run tools only if the reason is `tool_calls`, and some providers say `stop` beside calls.
 */
export function finalReason(said: FinishReason | undefined, hasCalls: boolean): FinishReason {
  if (said !== undefined && said !== 'stop') return said;
  return hasCalls ? 'tool_calls' : 'stop';
}
