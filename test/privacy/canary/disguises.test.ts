import { randomBytes } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { disguises, encodings, found, searchable } from './disguises.ts';

const marker = `canary${randomBytes(12).toString('hex')}`;
const among = (text: string): string => `${'lorem ipsum '.repeat(40)}${text}${' dolor sit amet'.repeat(40)}`;
const isFound = (sink: string): boolean => found(searchable(sink), { it: disguises(marker) }).length === 1;

describe('the search', () => {
  it('finds nothing where there is nothing', () => {
    expect(isFound(among(`canary${randomBytes(12).toString('hex')}`))).toBe(false);
    expect(isFound(gzipSync(among('nothing')).toString('latin1'))).toBe(false);
  });

  it.each(Object.entries(encodings))('finds a text that is there %s', (_, encode) => {
    for (const form of encode(marker)) expect(isFound(among(form))).toBe(true);
  });

  it.each([0, 1, 2, 3, 4, 5])('finds it in the base64 of a longer text, after %i bytes', (before) => {
    const bytes = Buffer.from(`${'x'.repeat(before)}${marker} and so on`);
    expect(isFound(among(bytes.toString('base64')))).toBe(true);
    expect(isFound(among(bytes.toString('base64url')))).toBe(true);
  });

  it.each([
    ['gzip', gzipSync],
    ['zlib', deflateSync],
  ] as const)('finds it compressed by %s, as bytes, in base64 and in hex', (_, compress) => {
    const bytes = compress(among(marker));
    for (const form of ['latin1', 'base64', 'base64url', 'hex'] as const) {
      expect(isFound(among(bytes.toString(form))), form).toBe(true);
      // The end of the compressed text is missing.
      expect(isFound(`before ${bytes.subarray(0, -6).toString(form)}`), form).toBe(true);
    }
  });
});
