import { Readable } from 'node:stream';
import { errorEnvelope, SseEventTooLargeError, SseParser, sseFrame, sseKeepAlive } from '@sotto/wire';
import { answerFrom, answerOfFailure, localId } from '../answer.ts';
import { bounded, maxAnswerBytes, readWhole } from '../bounded-body.ts';
import { type Bytes, utf8 } from '../e2ee/bytes.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';

/** Headers that describe the bytes of the body that the service sent. */
const ofBytes = new Set(['content-length', 'content-encoding']);

/** Returns the answer with another body. */
export function rewritten(
  { status, headers }: Pick<ContentAnswer, 'status' | 'headers'>,
  body: AsyncIterable<Uint8Array>,
): ContentAnswer {
  const kept = headers.filter(([name]) => !ofBytes.has(name));
  return {
    status,
    headers: kept,
    body,
    toResponse() {
      const init = { status, headers: kept.map(([name, value]): [string, string] => [name, value]) };
      return new Response(Readable.toWeb(Readable.from(body)) as ReadableStream<Uint8Array>, init);
    },
  };
}

/**
 * Reads a whole answer, and returns it with the text that `write` makes of it. A body that breaks off or is too large, and a
 * failure of `write`, become an error in its place: a broken connection would say nothing.
 */
export async function rewrittenWhole(
  answer: ContentAnswer,
  signal: AbortSignal,
  write: (bytes: Bytes) => string | Promise<string>,
): Promise<ContentAnswer> {
  try {
    return rewritten(answer, onePiece(await write(await readWhole(answer.body, signal))));
  } catch (error) {
    signal.throwIfAborted();
    return answerFrom(answerOfFailure(lossOf(error)));
  }
}

/** The failure of an answer that could not be read to its end. */
export const lossOf = (error: unknown): ClientError =>
  error instanceof ClientError ? error : new ClientError('answer_lost', undefined, { cause: error });

/** The value of a header of an answer, by its name in lower case. */
export const headerOf = ({ headers }: ContentAnswer, name: string): string | undefined =>
  headers.find(([each]) => each === name)?.[1];

export const isEventStream = (answer: ContentAnswer): boolean =>
  /^text\/event-stream\b/i.test(headerOf(answer, 'content-type') ?? '');

/** A piece of a stream, with the data of the events that it completes. The last one may have no bytes. */
interface EventPiece {
  readonly piece: Uint8Array;
  readonly events: readonly string[];
}

/** Reads a stream of events. Throws `answer_too_large` for an event that is. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<EventPiece> {
  const decoder = new TextDecoder();
  let events: string[] = [];
  const parser = new SseParser({ maxEventChars: maxAnswerBytes, onEvent: (event) => void events.push(event) });
  try {
    for await (const piece of body) {
      parser.push(decoder.decode(piece, { stream: true }));
      yield { piece, events };
      events = [];
    }
    parser.push(decoder.decode());
    parser.end();
  } catch (error) {
    throw error instanceof SseEventTooLargeError ? new ClientError('answer_too_large') : error;
  }
  if (events.length > 0) yield { piece: new Uint8Array(), events };
}

/** How each event of a stream is written anew. */
export interface EventWriter {
  /** Takes the data of an event. Returns the text to send now. */
  event(data: string): string;
  /** Sees the bytes as they come. */
  bytes?(piece: Uint8Array): void;
  /** Returns the text to send after the last event. */
  end?(): Promise<string>;
}

/** Writes the events of a stream anew: something for each piece that arrives. Its last event is an error if it is too large. */
export async function* eventsAnew(body: AsyncIterable<Uint8Array>, writer: EventWriter): AsyncGenerator<Uint8Array> {
  try {
    for await (const { piece, events } of eventsOf(bounded(body))) {
      writer.bytes?.(piece);
      yield utf8(events.map((event) => writer.event(event)).join('') || sseKeepAlive);
    }
    const last = (await writer.end?.()) ?? '';
    if (last !== '') yield utf8(last);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    const { code: type, message, param } = error;
    yield utf8(sseFrame(JSON.stringify(errorEnvelope({ type, message, param }, localId()))));
  }
}

export async function* onePiece(text: string): AsyncGenerator<Uint8Array> {
  yield utf8(text);
}
