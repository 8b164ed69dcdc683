import type { HeardMessage, Spoken } from './enclave.ts';

export interface ChatBody {
  readonly model: string;
  readonly messages: readonly HeardMessage[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

type Said = Record<string, unknown>;

export const replyId = 'chatcmpl-0123456789abcdef';

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

/** The completion that vLLM would return. */
export const completionOf = ({ reasoning = [], content }: Spoken, model: string): Said => ({
  id: replyId,
  object: 'chat.completion',
  created: 1_750_000_000,
  model,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: content.join(''),
        ...(reasoning.length === 0 ? {} : { reasoning_content: reasoning.join('') }),
        tool_calls: [],
      },
      logprobs: null,
      finish_reason: 'stop',
      stop_reason: null,
    },
  ],
  usage,
});

/** The chunks that vLLM would stream, the role first and the usage last. Text repeats the role, as some servers do. */
export function chunksOf({ reasoning = [], content }: Spoken, model: string): Said[] {
  const chunk = (delta: Said, finish: string | null = null): Said => ({
    id: replyId,
    object: 'chat.completion.chunk',
    created: 1_750_000_000,
    model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...reasoning.map((piece) => chunk({ reasoning_content: piece })),
    ...content.map((piece) => chunk({ role: 'assistant', content: piece })),
    chunk({}, 'stop'),
    { ...chunk({}), choices: [], usage },
  ];
}

export const event = (payload: unknown): Buffer =>
  Buffer.from(`data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`);
