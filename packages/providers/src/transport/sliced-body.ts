/** Length in bytes above which a body is sent in slices. */
export const largeBodyBytes = 256 * 1024;

/**
 * Yields a body in slices, as fast as the connection takes them. undici keeps a body that it gets as a whole until the
 * answer has ended, and TLS would encrypt all of it in one turn of the event loop.
 */
export function* slicesOf(body: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < body.length; at += largeBodyBytes) yield body.subarray(at, at + largeBodyBytes);
}
