import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';
import { type Bytes, fromBase64, fromHex } from '../bytes.ts';
import { parsePemChain } from '../x509/certificate.ts';

let vectors: Readonly<Record<string, string>> | undefined;

/** One recording of `vectors/vectors.json`, by its name such as `snp/ms_milan_report.bin`: text, or bytes in base64. */
export function vectorText(name: string): string {
  vectors ??= JSON.parse(readFileSync(new URL('../../vectors/vectors.json', import.meta.url), 'utf8')) as Readonly<
    Record<string, string>
  >;
  const found = vectors[name];
  if (found === undefined) throw new Error(`there is no vector ${name}`);
  return found;
}

/** The bytes of a binary recording. */
export const vectorBytes = (path: string): Bytes => fromBase64(vectorText(path), path);

/** The bytes of a compressed recording. */
export const vectorInflated = (path: string): Bytes => Uint8Array.from(inflateSync(vectorBytes(`${path}.deflate`)));

export function vectorJson<T>(path: string): T {
  return JSON.parse(vectorText(path)) as T;
}

/** A certificate in either of its encodings, as DER. */
export function vectorCertificate(path: string): Bytes {
  return path.endsWith('.pem')
    ? (parsePemChain(vectorText(path), path)[0]?.raw ?? new Uint8Array())
    : vectorBytes(path);
}

/** A quote from dstack: hex in a JSON document. */
export function vectorDstackQuote(path: string): Bytes {
  return fromHex(vectorJson<{ quote: string }>(path).quote, path);
}

/** The same bytes with one bit flipped. */
export function flipped(bytes: Uint8Array, index: number, bit = 0): Bytes {
  const copy = Uint8Array.from(bytes);
  copy[index] = (copy[index] ?? 0) ^ (1 << bit);
  return copy;
}
