import { type ChatRequest, chatRequestSchema } from '@sotto/wire';
import type { AnswerIdentity, ChatStreamReader, ChatTarget } from '../adapter.ts';
import { OpenAiChatStream } from '../openai/chat-stream.ts';

/** What clients see instead of a provider's own names. */
export const ours: AnswerIdentity = { id: 'chatcmpl-ours', created: 1_750_000_000, model: 'acme/small' };

/** What a provider calls itself; none of it may reach a client. */
export const theirs = {
  id: 'chatcmpl-THEIRS',
  created: 1_711_111_111,
  model: 'upstream-secret-v1',
  system_fingerprint: 'fp_THEIRS',
} as const;

/** A chat request as the edge hands it on: parsed, whatever else the body held. */
export const chat = (body: object = {}): ChatRequest =>
  chatRequestSchema.parse({ model: 'acme/small', messages: [{ role: 'user', content: 'hi' }], ...body });

export const target = (more: Partial<ChatTarget> = {}): ChatTarget => ({
  upstreamModel: 'small-v1',
  maxOutputTokens: 1000,
  reasoning: undefined,
  dialect: { max_tokens_field: 'max_tokens', extra_body: {}, reasoning_off: { reasoning_effort: 'none' } },
  extraBody: {},
  ...more,
});

/** A provider's event: its envelope around one choice. */
export const event = (delta: object, finishReason: string | null = null, more: object = {}): object => ({
  ...theirs,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
  ...more,
});

export const frame = (payload: object | string): string =>
  `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`;

/** A chunk as clients parse it. */
export interface SeenChunk {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: {
      readonly role?: string;
      readonly content?: string | null;
      readonly reasoning?: string;
      readonly refusal?: string;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly type?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
    readonly finish_reason: string | null;
  }[];
}

export interface StreamRun {
  readonly reader: ChatStreamReader;
  /** Everything that was sent to the client, decoded. */
  readonly sent: string;
  readonly chunks: readonly SeenChunk[];
  readonly text: string;
  readonly reasoning: string;
}

const bytes = (piece: string | Buffer): string => Buffer.from(piece as string).toString('latin1');

/** Reads a provider's stream, given in the pieces in which it arrives, to its end. */
export function runStream(
  pieces: readonly (string | Buffer)[],
  options: { readonly stripReasoning?: boolean } = {},
): StreamRun {
  const reader = new OpenAiChatStream({ identity: ours, stripReasoning: options.stripReasoning ?? false });
  let raw = '';
  for (const piece of pieces) raw += reader.push(bytes(piece));
  raw += reader.end();
  const sent = Buffer.from(raw, 'latin1').toString('utf8');
  const chunks = parseFrames(sent);
  const joined = (field: 'content' | 'reasoning'): string =>
    chunks.map(({ choices }) => choices[0]?.delta[field] ?? '').join('');
  return { reader, sent, chunks, text: joined('content'), reasoning: joined('reasoning') };
}

/** Splits frames as strictly as the strictest client: one `data:` line and a blank line each, and nothing besides. */
export function parseFrames(sent: string): SeenChunk[] {
  const frames = sent.split('\n\n');
  if (frames.pop() !== '') throw new Error('the last frame has no end');
  return frames.map((text) => {
    if (!/^data: [^\r\n]*$/.test(text)) throw new Error(`no frame: ${JSON.stringify(text)}`);
    return JSON.parse(text.slice(6)) as SeenChunk;
  });
}
