import { readFileSync } from 'node:fs';
import { type Bytes, ownBytes } from '../bytes/bytes.ts';
import { fromHex } from '../bytes/encodings.ts';
import { parsePemChain } from '../x509/pem.ts';

const folder = new URL('../../vectors/', import.meta.url);

/** The recorded evidence of `vectors/`, by path. */
export function vectorText(path: string): string {
  return readFileSync(new URL(path, folder), 'utf8');
}

export function vectorBytes(path: string): Bytes {
  return ownBytes(readFileSync(new URL(path, folder)), path, 1_000_000);
}

export function vectorJson<T>(path: string): T {
  return JSON.parse(vectorText(path)) as T;
}

/** A certificate in either of its encodings, as DER. */
export function vectorCertificate(path: string): Bytes {
  return path.endsWith('.pem')
    ? (parsePemChain(vectorText(path), path)[0]?.raw ?? new Uint8Array())
    : vectorBytes(path);
}

/** A quote of dstack's: hex in a JSON document. */
export function vectorDstackQuote(path: string): Bytes {
  return fromHex(vectorJson<{ quote: string }>(path).quote, path);
}

/** The same bytes with one bit turned over. */
export function flipped(bytes: Uint8Array, index: number, bit = 0): Bytes {
  const copy = Uint8Array.from(bytes);
  copy[index] = (copy[index] ?? 0) ^ (1 << bit);
  return copy;
}
