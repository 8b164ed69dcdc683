import type { FinishReason } from '@sotto/wire';

/** `stop_reason` as the shape of OpenAI says it. Unknown ones are an end like any other. */
export function finishReasonOf(stopReason: string): FinishReason {
  switch (stopReason) {
    case 'tool_use':
      return 'tool_calls';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'refusal':
      return 'content_filter';
    default:
      return 'stop';
  }
}
