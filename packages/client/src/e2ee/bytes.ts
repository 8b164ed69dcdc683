import { ClientError, type ClientErrorCode } from '../errors.ts';

/** Bytes that WebCrypto takes: never backed by shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Gives that many random bytes, fresh each time. Tests inject fixed ones; everyone else uses `secureRandom`. */
export type RandomBytes = (length: number) => Bytes;

export const secureRandom: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));

const encoder = new TextEncoder();

export const utf8 = (text: string): Bytes => encoder.encode(text);

/** Decodes whole UTF-8 text; broken sequences are an error, never replaced. A byte order mark is kept. */
export function fromUtf8(bytes: Uint8Array, code: ClientErrorCode): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ClientError(code);
  }
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A copy that WebCrypto takes, whatever memory the original lies in. */
export const copy = (bytes: Uint8Array): Bytes => new Uint8Array(bytes);

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function toHex(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += hexPairs[byte];
  return hex;
}

/** Reads hexadecimal digits, in pairs, of either case and nothing else. Undefined where the text is anything else. */
export function fromHex(hex: string): Bytes | undefined {
  if (hex.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(hex)) return undefined;
  const bytes = new Uint8Array(hex.length / 2);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16);
  return bytes;
}

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Reads padded standard base64 in its one canonical spelling. Undefined where the text is anything else. */
export function fromBase64(text: string): Bytes | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  if (btoa(binary) !== text) return undefined;
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
