import type { Bytes } from './e2ee/bytes.ts';

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
