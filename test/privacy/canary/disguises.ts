import { createHash } from 'node:crypto';
import { constants, inflateRawSync } from 'node:zlib';

const base64Forms = (bytes: Buffer): string[] => {
  const aligned = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      // Cuts off the characters that depend on the neighboring bytes.
      .slice(Math.ceil((shift * 4) / 3), -4)
      .replace(/=+$/, ''),
  );
  return [...aligned, ...aligned.map((each) => each.replaceAll('+', '-').replaceAll('/', '_'))];
};

/** Every encoding in which a sink may hold a text, each as it would appear there. */
export const encodings: Readonly<Record<string, (text: string) => string[]>> = {
  'as it is': (text) => [text, text.toUpperCase(), text.toLowerCase()],
  hex: (text) => {
    const hex = Buffer.from(text).toString('hex');
    return [hex, hex.toUpperCase()];
  },
  'percent-encoded': (text) => [
    encodeURIComponent(text),
    Buffer.from(text)
      .toString('hex')
      .replace(/../g, (byte) => `%${byte.toUpperCase()}`),
  ],
  'base64, wherever it begins': (text) => base64Forms(Buffer.from(text)),
  'escaped in JSON': (text) => [
    [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
    JSON.stringify(text).slice(1, -1),
  ],
  'UTF-16': (text) => {
    const little = Buffer.from(text, 'utf16le');
    const big = Buffer.from(little).swap16();
    return [little, big].flatMap((bytes) => [bytes.toString('latin1'), bytes.toString('hex'), ...base64Forms(bytes)]);
  },
  'a list of bytes': (text) => [[...Buffer.from(text)].join(','), [...Buffer.from(text)].join(', ')],
};

/** The forms in which a text could appear, except compressed ones, which `searchable` decompresses. */
export const disguises = (text: string): string[] => [
  ...new Set(Object.values(encodings).flatMap((encode) => encode(text))),
];

/** The forms of a secret's hash. */
export function hashes(secret: string): string[] {
  return ['sha256', 'sha1', 'md5', 'sha512'].flatMap((algorithm) => {
    const digest = createHash(algorithm).update(secret).digest();
    return [digest.toString('hex'), digest.toString('base64').replace(/=+$/, ''), digest.toString('base64url')];
  });
}

const mostCompressed = 1024 * 1024;

/** The places in a `latin1` text where compressed data may begin, and the bytes from there. */
const beginnings: readonly (readonly [RegExp, (text: string) => Buffer])[] = [
  // gzip (RFC 1952) and zlib (RFC 1950), as bytes, in base64 and in hex.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the bytes that gzip begins with.
  [/\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]/g, (text) => Buffer.from(text, 'latin1')],
  [/H4sI|eJ[w-z]|eAE|eN[o-r]/g, (text) => Buffer.from(/^[\w+/-]*/.exec(text)?.[0] ?? '', 'base64')],
  [/1f8b08|789c|78da/gi, (text) => Buffer.from(/^(?:[\da-f]{2})*/i.exec(text)?.[0] ?? '', 'hex')],
];

/** The sink, followed by its compressed parts inflated, and by a copy in which one level of escaping is undone. */
export function searchable(sink: string): string {
  const inflated: string[] = [sink];
  if (sink.includes('\\\\')) inflated.push(sink.replaceAll('\\\\', '\\'));
  for (const [pattern, read] of beginnings) {
    for (const { index } of sink.matchAll(pattern)) {
      const bytes = read(sink.slice(index, index + mostCompressed));
      const text = inflate(bytes);
      if (text !== undefined) inflated.push(text);
    }
  }
  return inflated.join('\n');
}

/** Inflates the bytes behind the header. Reading the whole file would need a valid checksum and nothing after it. */
function inflate(bytes: Buffer): string | undefined {
  const header = bytes[0] === 0x1f ? 10 : 2;
  try {
    // Truncated data is read as far as it goes.
    return inflateRawSync(bytes.subarray(header), { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1');
  } catch {
    return undefined;
  }
}

/** The names of the texts that a sink holds. */
export const found = (sink: string, texts: Readonly<Record<string, readonly string[]>>): string[] =>
  Object.entries(texts).flatMap(([name, forms]) => {
    const form = forms.find((each) => sink.includes(each));
    if (form === undefined) return [];
    const at = sink.indexOf(form);
    return [`${name}: …${sink.slice(Math.max(0, at - 120), at + form.length + 40)}…`];
  });
