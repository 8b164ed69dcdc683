import { Readable } from 'node:stream';
import { SseParser } from '@sotto/wire';
import { utf8 } from '../e2ee/bytes.ts';
import type { ContentAnswer } from '../gateway/platform.ts';

/** Headers that describe the bytes of the body that the service sent. */
const ofBytes = new Set(['content-length', 'content-encoding']);

/** Returns the answer with another body. */
export function rewritten({ status, headers }: ContentAnswer, body: AsyncIterable<Uint8Array>): ContentAnswer {
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

export const isEventStream = ({ headers }: ContentAnswer): boolean =>
  headers.some(([name, value]) => name === 'content-type' && /^text\/event-stream\b/i.test(value));

/** How each event of a stream is written anew. */
export interface EventWriter {
  /** Takes the data of an event. Returns the text to send now. */
  event(data: string): string;
  /** Sees the bytes as they come. */
  bytes?(piece: Uint8Array): void;
  /** Returns the text to send after the last event. */
  end?(): Promise<string>;
}

/** Characters of one event, at most: an answer is never larger than that. */
const maxEventChars = 64 * 1024 * 1024;
/** Programs give up an answer from which nothing comes. */
const comment = ': waiting\n\n';

/** Writes the events of a stream anew: something for each piece that arrives. */
export async function* eventsAnew(body: AsyncIterable<Uint8Array>, writer: EventWriter): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  let out = '';
  const parser = new SseParser({
    maxEventChars,
    onEvent: (event) => {
      out += writer.event(event);
    },
  });
  for await (const piece of body) {
    writer.bytes?.(piece);
    parser.push(decoder.decode(piece, { stream: true }));
    yield utf8(out === '' ? comment : out);
    out = '';
  }
  parser.push(decoder.decode());
  parser.end();
  out += (await writer.end?.()) ?? '';
  if (out !== '') yield utf8(out);
}

export async function* onePiece(text: string): AsyncGenerator<Uint8Array> {
  yield utf8(text);
}
