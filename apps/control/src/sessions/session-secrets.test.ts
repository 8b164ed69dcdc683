import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signAnew, versionedSecrets } from './session-secrets.ts';

const [a, b, c] = ['a'.repeat(32), 'b'.repeat(32), 'c'.repeat(32)] as const;
const signed = (value: string, secret: string): string =>
  encodeURIComponent(`${value}.${createHmac('sha256', secret).update(value).digest('base64')}`);

describe('secrets of sessions', () => {
  it('have a version each, which stays a secret’s own wherever it stands', () => {
    const versionOf = (secrets: Parameters<typeof versionedSecrets>[0], value: string) =>
      versionedSecrets(secrets).find((each) => each.value === value)?.version;
    expect(versionOf([a, b], a)).toBe(versionOf([b, a], a));
    expect(versionOf([a], a)).not.toBe(versionOf([b], b));
    // What was made before there could be two.
    expect(versionedSecrets([a, b]).at(-1)).toEqual({ version: 1, value: a });
  });

  it('sign anew what the other one signed, and nothing else', () => {
    const header = `x=1; sotto.session_token=${signed('token', a)}; mine=${signed('token', b)}; theirs=${signed('token', c)}`;
    expect(signAnew(header, [b, a])).toBe(
      `x=1; sotto.session_token=${signed('token', b)}; mine=${signed('token', b)}; theirs=${signed('token', c)}`,
    );
    expect(signAnew(`t="${signed('token', a)}"`, [b, a])).toBe(`t=${signed('token', b)}`);
    expect(signAnew(header, [a])).toBe(header);
  });

  it('leave any other header as it is', () => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), (header) => signAnew(header, [b, a]) === header));
  });
});
