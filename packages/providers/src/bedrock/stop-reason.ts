import type { FinishReason } from '@sotto/wire';

/** `stopReason` as the shape of OpenAI says it; undefined where it is a failure of the model's. */
export function finishReasonOf(stopReason: string): FinishReason | undefined {
  switch (stopReason) {
    case 'tool_use':
      return 'tool_calls';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'guardrail_intervened':
    case 'content_filtered':
      return 'content_filter';
    case 'malformed_model_output':
    case 'malformed_tool_use':
      return undefined;
    default:
      return 'stop';
  }
}
