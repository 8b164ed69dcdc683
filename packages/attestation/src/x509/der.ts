import type { Bytes } from '../bytes.ts';
import { Refusal } from '../refusal.ts';

/** One element of DER (X.690): its tag byte, the whole element, and its content. All are views on the same memory. */
export interface DerElement {
  readonly tag: number;
  readonly raw: Bytes;
  readonly content: Bytes;
}

/** The tag bytes that certificates and revocation lists use. */
export const derTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/**
 * The element at `offset`. Accepts only definite, minimal lengths, and refuses BER's other encodings of the same value.
 */
function elementAt(bytes: Bytes, offset: number): DerElement {
  const tag = bytes[offset];
  const first = bytes[offset + 1];
  if (tag === undefined || first === undefined) throw new Refusal('DER ends early');
  if ((tag & 0x1f) === 0x1f) throw new Refusal('DER has a tag of several bytes');
  let length = first;
  let header = 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 3) throw new Refusal('DER has a length that is indefinite or too long');
    length = 0;
    for (let index = 0; index < count; index += 1) length = length * 256 + (bytes[offset + 2 + index] ?? 0);
    if (length < 0x80 || length < 256 ** (count - 1)) throw new Refusal('DER has a length that is not minimal');
    header += count;
  }
  const end = offset + header + length;
  if (end > bytes.length) throw new Refusal('DER ends early');
  return { tag, raw: bytes.subarray(offset, end), content: bytes.subarray(offset + header, end) };
}

/** The single element in `bytes`. Refuses bytes after it. */
export function readDer(bytes: Bytes, tag: number): DerElement {
  const element = elementAt(bytes, 0);
  if (element.raw.length !== bytes.length) throw new Refusal('DER has bytes after its end');
  return expectTag(element, tag);
}

/**
 * More than any structure here has. Without a limit, input of two bytes per element could create millions of objects.
 */
const mostChildren = 256;

/** The elements inside a constructed one, one level deep. Does not recurse, so nesting cannot exhaust the stack. */
export function derChildren(element: DerElement, most: number = mostChildren): DerElement[] {
  if ((element.tag & 0x20) === 0) throw new Refusal('DER has a value where a structure belongs');
  const children: DerElement[] = [];
  let offset = 0;
  while (offset < element.content.length) {
    const child = elementAt(element.content, offset);
    if (children.length === most) throw new Refusal('DER has a structure with too many parts');
    children.push(child);
    offset += child.raw.length;
  }
  return children;
}

export function expectTag(element: DerElement | undefined, tag: number): DerElement {
  if (element?.tag !== tag) throw new Refusal(`DER has no element of tag ${tag} where one belongs`);
  return element;
}

/** An object identifier in dotted form. */
export function derObjectIdentifier(element: DerElement | undefined): string {
  const { content } = expectTag(element, derTag.objectIdentifier);
  const arcs: number[] = [];
  let arc = 0;
  let open = false;
  for (const byte of content) {
    if (!open && byte === 0x80) throw new Refusal('DER has an object identifier that is not minimal');
    arc = arc * 128 + (byte & 0x7f);
    if (arc > 0xffff_ffff) throw new Refusal('DER has an object identifier that is too large');
    open = byte >= 0x80;
    if (open) continue;
    arcs.push(arc);
    arc = 0;
  }
  const [first, ...rest] = arcs;
  if (first === undefined || open) throw new Refusal('DER has an unfinished object identifier');
  const top = Math.min(2, Math.floor(first / 40));
  return [top, first - top * 40, ...rest].join('.');
}

/** An INTEGER's content, checked to be minimal: big-endian two's complement. */
export function derInteger(element: DerElement | undefined): Bytes {
  const { content } = expectTag(element, derTag.integer);
  const [first, second] = content;
  if (first === undefined) throw new Refusal('DER has an empty integer');
  if (second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))) {
    throw new Refusal('DER has an integer that is not minimal');
  }
  return content;
}

/** A small non-negative INTEGER (up to 32 bits). */
export function derSmallInteger(element: DerElement | undefined): number {
  const content = derInteger(element);
  if ((content[0] ?? 0) >= 0x80) throw new Refusal('DER has a negative integer where none belongs');
  if (content.length > 4) throw new Refusal('DER has an integer that is too large');
  return content.reduce((value, byte) => value * 256 + byte, 0);
}

export function derBoolean(element: DerElement): boolean {
  const { content } = expectTag(element, derTag.boolean);
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw new Refusal('DER has a bad boolean');
  return content[0] === 0xff;
}

/** A BIT STRING of whole bytes. */
export function derBitString(element: DerElement | undefined): Bytes {
  const { content } = expectTag(element, derTag.bitString);
  if (content[0] !== 0) throw new Refusal('DER has a bit string that is not of whole bytes');
  return content.subarray(1);
}

/** UTCTime or GeneralizedTime as RFC 5280 restricts them (seconds, `Z`), to milliseconds since the epoch. */
export function derTime(element: DerElement | undefined): number {
  if (element?.tag !== derTag.utcTime && element?.tag !== derTag.generalizedTime) {
    throw new Refusal('DER has no time where one belongs');
  }
  const text = String.fromCharCode(...element.content.subarray(0, 16));
  const match = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text);
  const [, yearDigits = '', month, day, hour, minute, second] = match ?? [];
  if (match === null || yearDigits.length !== (element.tag === derTag.utcTime ? 2 : 4)) {
    throw new Refusal('DER has a time in a form that certificates do not use');
  }
  const short = Number(yearDigits);
  const year = yearDigits.length === 4 ? yearDigits : String(short + (short >= 50 ? 1900 : 2000));
  return parseInstant(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** `YYYY-MM-DDTHH:MM:SSZ` to milliseconds since the epoch. Refuses dates that do not exist. */
export function parseInstant(text: string): number {
  const instantMs = Date.parse(text);
  if (Number.isNaN(instantMs) || new Date(instantMs).toISOString() !== text.replace(/Z$/, '.000Z')) {
    throw new Refusal('a date is not of the form YYYY-MM-DDTHH:MM:SSZ');
  }
  return instantMs;
}
