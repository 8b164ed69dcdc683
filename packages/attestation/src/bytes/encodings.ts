import { Refusal } from '../refusal.ts';
import type { Bytes } from './bytes.ts';

const hexDigits = /^(?:[0-9a-fA-F]{2})*$/;

export function toHex(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0');
  return hex;
}

/** Hex of either case to bytes; with `length`, to exactly that many. Refuses anything else, a `0x` included. */
export function fromHex(text: string, what: string, length?: number): Bytes {
  if (!hexDigits.test(text)) throw new Refusal(`${what} is not hex`);
  if (length !== undefined && text.length !== 2 * length) {
    throw new Refusal(`${what} has ${text.length} hex digits, not ${2 * length}`);
  }
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index += 1)
    bytes[index] = Number.parseInt(text.slice(2 * index, 2 * index + 2), 16);
  return bytes;
}

const base64Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const base64Values = new Map([...base64Alphabet].map((character, value) => [character.charCodeAt(0), value]));

/**
 * RFC 4648 base64 with padding, one text for one value: no white space, no missing padding, no set bits in what the
 * padding leaves over. `atob` forgives all three, and a flipped bit in evidence should never be forgiven.
 */
export function fromBase64(text: string, what: string): Bytes {
  const refuse = (): never => {
    throw new Refusal(`${what} is not base64`);
  };
  if (text.length % 4 !== 0) refuse();
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const digits = text.length - padding;
  const bytes = new Uint8Array(Math.floor((digits * 6) / 8));
  let bits = 0;
  let bitCount = 0;
  let at = 0;
  for (let index = 0; index < digits; index += 1) {
    bits = (bits << 6) | (base64Values.get(text.charCodeAt(index)) ?? refuse());
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes[at] = (bits >> bitCount) & 0xff;
      at += 1;
      bits &= (1 << bitCount) - 1;
    }
  }
  if (bits !== 0) refuse();
  return bytes;
}

/** RFC 4648 base64 with padding: what `fromBase64` takes. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
