import type { Bytes } from './e2ee/bytes.ts';
import { ClientError } from './errors.ts';

/**
 * Bytes of one answer that this client holds, at most. It is twice what a broker reads from a provider, and above a streamed
 * answer of 400,000 tokens with each in an event of its own.
 */
export const maxAnswerBytes = 128 * 1024 * 1024;

/** Bytes of one request of a tool, also decompressed, at most: twice what a broker takes. */
export const maxRequestBytes = 64 * 1024 * 1024;

/** Yields the same pieces. Throws `answer_too_large` beyond `maxAnswerBytes`. */
export async function* bounded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > maxAnswerBytes) throw new ClientError('answer_too_large');
    yield piece;
  }
}

/** Reads a whole answer. Throws `answer_too_large`, the error of a body that breaks off, and the signal's reason. */
export async function readWhole(body: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<Bytes> {
  const bytes = await readBounded(body, maxAnswerBytes, signal);
  if (bytes === undefined) throw new ClientError('answer_too_large');
  return bytes;
}

/** The same as a text. */
export const readText = async (body: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<string> =>
  new TextDecoder().decode(await readWhole(body, signal));

/**
 * Reads a body of at most `maxBytes`. Returns undefined for a larger one, whose rest it drops. Throws the error of a body
 * that breaks off, and the signal's reason.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Bytes | undefined> {
  const reader = body[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<never>();
  // Nobody may wait for it any more.
  aborted.promise.catch(() => undefined);
  const abort = (): void => aborted.reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    signal?.throwIfAborted();
    for (;;) {
      const next = await Promise.race([reader.next(), aborted.promise]);
      if (next.done) return joined(pieces, length);
      length += next.value.length;
      if (length > maxBytes) return undefined;
      pieces.push(next.value);
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    // A body that does not end may not answer this either.
    void reader.return?.().catch(() => undefined);
  }
}

function joined(pieces: readonly Uint8Array[], length: number): Bytes {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
