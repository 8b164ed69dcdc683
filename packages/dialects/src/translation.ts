import type { ChatCompletion } from '@sotto/wire';
import type { ChatBody } from './chat-body.ts';
import type { ChatFailure } from './chat-failure.ts';
import type { AnswerChunk } from './chat-stream.ts';
import type { OfferedModel } from './offered-model.ts';

/** The catalog as a dialect's reader sees it. */
export interface Models {
  /** Returns the id to ask for, given the name that the tool sent. */
  readonly resolve: (name: string) => string;
  readonly find: (id: string) => OfferedModel | undefined;
}

/** Thrown for an answer that a dialect cannot write. It may have been charged. The message is one sentence, for the user. */
export class UnwritableAnswer extends Error {}

/** A whole chat answer. */
export type ChatAnswer = Pick<ChatCompletion, 'id' | 'created' | 'model' | 'choices' | 'usage'>;

/** A request of another dialect as a chat request, and the writers for its answer. */
export interface Translation {
  readonly body: ChatBody;
  /** Names the parts that were left out, for the log. Holds no content. */
  readonly notes: readonly string[];
  /** The media type of a streamed answer that is none of server-sent events. */
  readonly streamType?: string | undefined;
  /** Writes a whole answer. Throws an `UnwritableAnswer`. */
  readonly whole: (answer: ChatAnswer) => object;
  /** Returns the writer of one streamed answer. */
  readonly stream: () => StreamWriter;
}

/** Writes a streamed answer. Each method returns the text to send, which may be empty. */
export interface StreamWriter {
  /** Whether the answer has ended and did not fail. */
  readonly isWhole: boolean;
  /** Throws an `UnwritableAnswer`. */
  chunk(chunk: AnswerChunk): string;
  /** Called when the service kept the connection alive without a chunk. */
  keepAlive(): string;
  /** Ends a whole answer. */
  end(): string;
  /** Ends an answer that failed. Nothing comes after it. */
  fail(failure: ChatFailure): string;
}

/** An answer of the proxy itself. */
export interface WrittenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
