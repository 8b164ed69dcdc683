import type { Bytes } from '@sotto/attestation';
import { ClientError, type ClientErrorCode } from '../errors.ts';

export {
  type Bytes,
  concatBytes as concat,
  decodeBase64 as fromBase64,
  decodeHex as fromHex,
  toBase64,
  toHex,
} from '@sotto/attestation';

/** Returns that many random bytes, fresh each time. Tests inject fixed ones; all other callers use `secureRandom`. */
export type RandomBytes = (length: number) => Bytes;

export const secureRandom: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));

const encoder = new TextEncoder();

export const utf8 = (text: string): Bytes => encoder.encode(text);

/** Decodes whole UTF-8 text and keeps a byte order mark. Throws `code` for a broken sequence instead of replacing it. */
export function fromUtf8(bytes: Uint8Array, code: ClientErrorCode): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ClientError(code);
  }
}

/** Copies bytes into memory that WebCrypto accepts. */
export const copy = (bytes: Uint8Array): Bytes => new Uint8Array(bytes);
