/**
 * A top-level or nested `seed` with more digits than a number keeps. A JSON string cannot match, because its quotes are
 * escaped.
 */
const longSeed = /"seed"\s*:\s*(-?\d{16,19})(?=\s*[,}])/g;

/**
 * Restores the digits of a `seed` beyond 53 bits, which parsing has rounded: OpenAI's seeds have 64 bits. Only such a
 * body is searched, because a parser that keeps the text of every number takes 20 times as long. A body with two such
 * seeds that round to the same number is left for the schema to reject.
 */
export function withExactSeed(body: object, bytes: Buffer): object {
  const { seed } = body as { readonly seed?: unknown };
  if (!Number.isInteger(seed) || Number.isSafeInteger(seed)) return body;
  const found = new Set<string>();
  for (const [, digits = ''] of bytes.toString('utf8').matchAll(longSeed)) {
    if (Number(digits) === seed) found.add(digits);
  }
  const [digits, ...others] = found;
  return digits === undefined || others.length > 0 ? body : { ...body, seed: BigInt(digits) };
}
