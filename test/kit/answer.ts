import { type ChatChunk, chatChunkSchema, errorAnswerSchema, parseJson } from '@sotto/wire';
import { expect } from 'vitest';

export interface PublicError {
  readonly message: string;
  readonly type: string;
  readonly request_id: string;
  readonly param?: string | null;
}

export interface ToolCall {
  readonly index?: number;
  readonly id?: string;
  readonly type?: string;
  readonly function: { readonly name?: string; readonly arguments?: string };
}

export interface Piece {
  readonly role?: string;
  readonly content?: string | null;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly ToolCall[];
}

/** A whole chat completion, one event of a stream, or an error. */
export interface Body {
  readonly id?: string;
  readonly object?: string;
  readonly model?: string;
  readonly choices?: readonly {
    readonly index: number;
    readonly message?: Piece;
    readonly delta?: Piece;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly cost: number };
  readonly error?: PublicError;
}

/** How a call ended: with the answer, because the client left, because the connection broke, or at the deadline. */
export type Ended = 'answered' | 'left' | 'broken' | 'stuck';

/** What one call brought its client. Nothing is parsed before a test asks for it. */
export class Answer {
  /** 0 if no answer arrived. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly ended: Ended;

  constructor(status: number, headers: Headers, text: string, ended: Ended = 'answered') {
    this.status = status;
    this.headers = headers;
    this.text = text;
    this.ended = ended;
  }

  get isStream(): boolean {
    return (this.headers.get('content-type') ?? '').startsWith('text/event-stream');
  }

  /** Whether everything arrived: the whole body, or a stream up to its `[DONE]`. */
  get complete(): boolean {
    const whole = this.isStream ? this.text.endsWith('data: [DONE]\n\n') : this.ended === 'answered';
    return this.status === 200 && whole;
  }

  /** The parsed body; undefined if it is not JSON. */
  get json(): unknown {
    return parseJson(this.text);
  }

  /** The body, or the last event of a stream. */
  get body(): Body {
    return (this.isStream ? this.chunks.at(-1) : (this.json as Body | undefined)) ?? {};
  }

  /** The events of a stream, without the terminator. Throws if they are not what a strict client reads. */
  get chunks(): readonly Body[] {
    return this.isStream ? eventsIn(this.text).chunks : [];
  }

  /** Whether a stream ended with `[DONE]`. */
  get done(): boolean {
    return this.isStream && eventsIn(this.text).done;
  }

  /** The text of the whole answer, or of all deltas together. */
  get content(): string {
    return this.isStream ? eventsIn(this.text).content : (this.body.choices?.[0]?.message?.content ?? '');
  }

  /** The error of the answer, or of the first event of a stream that has one. */
  get error(): PublicError | undefined {
    const bodies = this.isStream ? this.text.split('\n\n').map((frame) => frame.slice('data: '.length)) : [this.text];
    return bodies.map((body) => (parseJson(body) as Body | undefined)?.error).find((error) => error !== undefined);
  }
}

/** A stream after its end, as a client sees it. */
export interface Streamed<Chunk = ChatChunk> {
  /** The events without the terminator. */
  readonly chunks: readonly Chunk[];
  readonly done: boolean;
  /** The concatenated text of all deltas. */
  readonly content: string;
}

/** A stream of our schema, and the error that comes last if it broke. */
export interface Told extends Streamed {
  readonly error: PublicError | undefined;
}

/** Reads a stream strictly: see `payloadsOf`. Every payload is a chunk of our schema, but an error may come last. It breaks the body off. */
export function readStream({ status, headers, text, ended }: Answer): Told {
  expect(status, text.slice(0, 500)).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(text).not.toBe('');
  const { payloads, done } = payloadsOf(text);
  const told = payloads.map((payload): unknown => JSON.parse(payload));
  const last = errorAnswerSchema.safeParse(told.at(-1));
  const chunks = (last.success ? told.slice(0, -1) : told).map((chunk) => chatChunkSchema.parse(chunk));
  const content = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
  if (last.success) expect({ done, ended }).toEqual({ done: false, ended: 'broken' });
  return { chunks, done, content, error: last.data?.error };
}

/** Reads a stream strictly: see `payloadsOf`. Every payload is JSON. */
export function eventsIn(text: string): Streamed<Body> {
  const { payloads, done } = payloadsOf(text);
  const chunks = payloads.map((payload) => JSON.parse(payload) as Body);
  const content = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('');
  return { chunks, done, content };
}

/**
 * Splits a stream as strictly as a simple client: it ends with a whole frame, and every frame is one `data: ` line or a
 * comment. The terminator is not among the payloads.
 */
export function payloadsOf(text: string): { readonly payloads: readonly string[]; readonly done: boolean } {
  expect(text === '' || text.endsWith('\n\n'), `the stream ends within a frame: ${text.slice(-200)}`).toBe(true);
  const payloads = text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      expect(frame).toMatch(/^data: [^\n]*$/);
      return frame.slice('data: '.length);
    });
  const done = payloads.at(-1) === '[DONE]';
  return { payloads: done ? payloads.slice(0, -1) : payloads, done };
}

/** Returns everything that a client sees of an answer: status, headers and body. */
export const allOf = ({ status, headers, text }: Answer): string =>
  `${status}\n${[...headers].map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${text}`;

/** Reads a response of `fetch` to its end. */
export const readAnswer = async (response: Response): Promise<Answer> =>
  new Answer(response.status, response.headers, await response.text());
