import { crc32 } from 'node:zlib';
import { type ChatRequest, chatRequestSchema } from '@sotto/wire';
import type { AnswerIdentity, ChatStreamReader, ChatTarget } from '../adapter.ts';
import { OpenAiChatStream } from '../openai/chat-stream.ts';

/** The names that clients see instead of a provider's own. */
export const ours: AnswerIdentity = { id: 'chatcmpl-ours', created: 1_750_000_000, model: 'acme/small' };

/** A provider's own names. None of them may reach a client. */
export const theirs = {
  id: 'chatcmpl-THEIRS',
  created: 1_711_111_111,
  model: 'upstream-secret-v1',
  system_fingerprint: 'fp_THEIRS',
} as const;

/** A chat request as the edge passes it on: parsed, whatever else the body held. */
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
interface SeenChunk {
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

interface StreamRun {
  readonly reader: ChatStreamReader;
  /** All text that was sent to the client, decoded. */
  readonly sent: string;
  readonly chunks: readonly SeenChunk[];
  readonly text: string;
  readonly reasoning: string;
}

const bytes = (piece: string | Buffer): string => Buffer.from(piece as string).toString('latin1');

/** Reads a provider's stream to its end, in the given pieces. */
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

/** Splits frames as strictly as the strictest client. Each frame must be one `data:` line and a blank line. */
export function parseFrames(sent: string): SeenChunk[] {
  const frames = sent.split('\n\n');
  if (frames.pop() !== '') throw new Error('the last frame has no end');
  return frames.map((text) => {
    if (!/^data: [^\r\n]*$/.test(text)) throw new Error(`no frame: ${JSON.stringify(text)}`);
    return JSON.parse(text.slice(6)) as SeenChunk;
  });
}

/** A message in the binary framing of AWS streams. A header value that is not a string is bytes of the given type. */
export function message(
  headers: Readonly<Record<string, string | { readonly type: number; readonly bytes: Buffer }>>,
  payload: string,
): Buffer {
  const named = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const { type, bytes } = typeof value === 'string' ? { type: 7, bytes: withLength(value) } : value;
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([type]), bytes]);
    }),
  );
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + named.length + body.length, 0);
  prelude.writeUInt32BE(named.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const bytes = Buffer.concat([prelude, named, body, Buffer.alloc(4)]);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  return bytes;
}

function withLength(text: string): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(2), Buffer.from(text)]);
  bytes.writeUInt16BE(bytes.length - 2, 0);
  return bytes;
}
