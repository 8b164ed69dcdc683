import { Readable } from 'node:stream';
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
