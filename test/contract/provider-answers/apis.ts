import { message } from '@sotto/providers/testing';

/** How each provider API writes an answer. A test changes one thing of it. */

/** A stream, as bytes in the pieces in which they arrive. */
export type Frames = readonly Buffer[];

const sse = (...events: readonly (object | string)[]): Frames =>
  events.map((event) => Buffer.from(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`));

export const openai = {
  whole: (said: object, finish: unknown, more: object = {}) =>
    JSON.stringify({
      ...{ id: 'u', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, message: { role: 'assistant', content: null, ...said }, finish_reason: finish }],
      usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
      ...more,
    }),
  /** `choices` are deltas, each with its finish reason. */
  stream: (choices: readonly (readonly [delta: object, finish?: unknown])[], end: readonly string[] = ['[DONE]']) =>
    sse(
      ...choices.map(([delta, finish = null]) => ({
        ...{ id: 'u', object: 'chat.completion.chunk', created: 1, model: 'm' },
        choices: [{ index: 0, delta, finish_reason: finish }],
      })),
      ...end,
    ),
  call: (index: number, id: string | undefined, name: string | undefined, args: unknown) => ({
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }],
  }),
  error: (error: unknown) => sse({ error } as object, '[DONE]'),
  raw: sse,
};

export const anthropic = {
  whole: (content: readonly object[], stop_reason: unknown) =>
    JSON.stringify({
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'm' },
      ...{ content, stop_reason, usage: { input_tokens: 20, output_tokens: 10 } },
    }),
  /** `middle` are the events between `message_start` and `message_stop`. */
  stream: (middle: readonly object[]) =>
    sse({ type: 'message_start', message: { usage: { input_tokens: 20, output_tokens: 1 } } }, ...middle, {
      type: 'message_stop',
    }),
  call: (index: number, id: string, name: string, input: unknown, pieces: readonly unknown[] = []) => [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input } },
    ...pieces.map((partial_json) => ({
      ...{ type: 'content_block_delta', index },
      delta: { type: 'input_json_delta', partial_json },
    })),
    { type: 'content_block_stop', index },
  ],
  text: (index: number, text: string) => [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index },
  ],
  stop: (stop_reason: unknown) => ({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 10 } }),
};

const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 10 };
export const google = {
  whole: (parts: readonly object[], finishReason: unknown) =>
    JSON.stringify({ candidates: [{ content: { parts }, finishReason }], usageMetadata }),
  stream: (pieces: readonly (readonly [parts: readonly object[], finishReason?: unknown])[]) =>
    sse(
      ...pieces.map(([parts, finishReason]) => ({ candidates: [{ content: { parts }, finishReason }], usageMetadata })),
    ),
};

const usage = { inputTokens: 20, outputTokens: 10 };
export const bedrock = {
  whole: (content: readonly object[], stopReason: unknown) =>
    JSON.stringify({ output: { message: { role: 'assistant', content } }, stopReason, usage }),
  stream: (events: readonly (readonly [type: string, event: object])[]): Frames =>
    events.map(([type, event]) => message({ ':message-type': 'event', ':event-type': type }, JSON.stringify(event))),
  call: (contentBlockIndex: number, toolUseId: string, name: string, pieces: readonly unknown[]) => [
    ['contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } }] as const,
    ...pieces.map((input) => ['contentBlockDelta', { contentBlockIndex, delta: { toolUse: { input } } }] as const),
    ['contentBlockStop', { contentBlockIndex }] as const,
  ],
  text: (contentBlockIndex: number, text: string) => [
    ['contentBlockDelta', { contentBlockIndex, delta: { text } }] as const,
    ['contentBlockStop', { contentBlockIndex }] as const,
  ],
  stop: (stopReason: unknown) => ['messageStop', { stopReason }] as const,
  metadata: ['metadata', { usage }] as const,
  exception: (type: string, text: string): Frames => [
    message({ ':message-type': 'exception', ':exception-type': type }, JSON.stringify({ message: text })),
  ],
};
