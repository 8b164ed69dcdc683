import type { FinishReason } from '@sotto/wire';

const common: readonly [string, FinishReason][] = [
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
];

const ofMessages: ReadonlyMap<string, FinishReason> = new Map([...common, ['refusal', 'content_filter']]);

/** Returns OpenAI's name for a `stop_reason` of the Messages API. An unknown name counts as `stop`. */
export const finishReasonOfMessages = (stopReason: string): FinishReason => ofMessages.get(stopReason) ?? 'stop';

const ofConverse: ReadonlyMap<string, FinishReason> = new Map([
  ...common,
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
]);
const converseFailures: ReadonlySet<string> = new Set(['malformed_model_output', 'malformed_tool_use']);

/** Returns OpenAI's name for a `stopReason` of Converse; undefined for a failure of the model. */
export const finishReasonOfConverse = (stopReason: string): FinishReason | undefined =>
  converseFailures.has(stopReason) ? undefined : (ofConverse.get(stopReason) ?? 'stop');
