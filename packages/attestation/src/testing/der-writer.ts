import { type Bytes, concatBytes } from '../bytes.ts';

/** DER for tests that make their own certificates, with one function for each kind of element. */
export function der(tag: number, ...contents: readonly Uint8Array[]): Bytes {
  const content = concatBytes(...contents);
  const { length } = content;
  if (length < 0x80) return concatBytes(Uint8Array.of(tag, length), content);
  if (length < 0x100) return concatBytes(Uint8Array.of(tag, 0x81, length), content);
  return concatBytes(Uint8Array.of(tag, 0x82, length >> 8, length & 0xff), content);
}

export const sequence = (...items: readonly Uint8Array[]): Bytes => der(0x30, ...items);
export const octets = (content: Uint8Array): Bytes => der(0x04, content);
export const bits = (content: Uint8Array): Bytes => der(0x03, Uint8Array.of(0), content);

/** A non-negative integer from its big-endian digits. */
export function unsigned(digits: Uint8Array): Bytes {
  const start = digits.findIndex((digit) => digit !== 0);
  const trimmed = start === -1 ? Uint8Array.of(0) : digits.subarray(start);
  return der(0x02, (trimmed[0] ?? 0) >= 0x80 ? concatBytes(Uint8Array.of(0), trimmed) : trimmed);
}

export const integer = (value: number): Bytes =>
  unsigned(Uint8Array.of((value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff));

export function objectIdentifier(dotted: string): Bytes {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const digits = [first * 40 + second, ...rest].flatMap((arc) => {
    const septets = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      septets.unshift((left & 0x7f) | 0x80);
    return septets;
  });
  return der(0x06, Uint8Array.from(digits));
}

export const text = (value: string, tag = 0x0c): Bytes => der(tag, new TextEncoder().encode(value));

export function commonName(name: string): Bytes {
  return sequence(der(0x31, sequence(objectIdentifier('2.5.4.3'), text(name))));
}

export function time(instant: string): Bytes {
  return text(`${new Date(instant).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`, 0x18);
}
