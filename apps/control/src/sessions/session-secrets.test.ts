import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { derivedKey, openText, sealing, sealText, signCookiesAgain, versionedSecrets } from './session-secrets.ts';

const [a, b, c] = ['a'.repeat(32), 'b'.repeat(32), 'c'.repeat(32)] as const;
const signed = (value: string, secret: string): string =>
  encodeURIComponent(`${value}.${createHmac('sha256', secret).update(value).digest('base64')}`);

describe('secrets of sessions', () => {
  it('have a version each, which does not depend on their order', () => {
    const versionOf = (secrets: Parameters<typeof versionedSecrets>[0], value: string) =>
      versionedSecrets(secrets).find((each) => each.value === value)?.version;
    expect(versionOf([a, b], a)).toBe(versionOf([b, a], a));
    expect(versionOf([a], a)).not.toBe(versionOf([b], b));
  });

  it('sign cookies of the other secret again, and nothing else', () => {
    const header = `x=1; sotto.session_token=${signed('token', a)}; mine=${signed('token', b)}; theirs=${signed('token', c)}`;
    expect(signCookiesAgain(header, [b, a])).toBe(
      `x=1; sotto.session_token=${signed('token', b)}; mine=${signed('token', b)}; theirs=${signed('token', c)}`,
    );
    expect(signCookiesAgain(`t="${signed('token', a)}"`, [b, a])).toBe(`t=${signed('token', b)}`);
    expect(signCookiesAgain(header, [a])).toBe(header);
  });

  it('leave any other header as it is', () => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), (header) => signCookiesAgain(header, [b, a]) === header));
  });
});

it('encrypts the same text differently each time, and rejects a changed one', () => {
  const key = derivedKey('x'.repeat(32), 'test');
  const [first, second] = [sealText(key, 'text'), sealText(key, 'text')];
  expect(first).not.toBe(second);
  expect(openText(key, first)).toBe('text');
  const bytes = Buffer.from(first, 'base64url');
  bytes[14] = (bytes[14] ?? 0) ^ 1;
  expect(openText(key, bytes.toString('base64url'))).toBeUndefined();
  expect(openText(derivedKey('x'.repeat(32), 'other'), first)).toBeUndefined();
});

it('opens during a rotation what the other secret sealed, and seals it again under the first', () => {
  const [first, second] = ['a'.repeat(32), 'b'.repeat(32)];
  const before = sealing([first], 'test');
  const rotating = sealing([second, first], 'test');
  const sealed = before.seal('text');
  expect(rotating.open(sealed)).toBe('text');
  const anew = rotating.reseal(sealed);
  expect(anew && sealing([second], 'test').open(anew)).toBe('text');
  expect(anew && rotating.reseal(anew)).toBeUndefined();
  expect(sealing([second], 'test').open(sealed)).toBeUndefined();
  expect(sealing([first], 'other').open(sealed)).toBeUndefined();
});
