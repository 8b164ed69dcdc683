import { expect, it } from 'vitest';
import { derivedKey } from '../../sessions/derived-key.ts';
import { artifactId, openPayload, openText, sealPayload, sealText } from './sealed-payload.ts';

it('opens a payload for whoever holds its secret, and for nobody else', () => {
  const sealed = sealPayload('AccessToken', 'a-secret', { jti: 'a-secret', scope: 'inference' });
  expect(sealed).not.toContain('a-secret');
  expect(openPayload('AccessToken', 'a-secret', sealed)).toEqual({ jti: 'a-secret', scope: 'inference' });
  expect(openPayload('AccessToken', 'b-secret', sealed)).toBeUndefined();
  expect(openPayload('RefreshToken', 'a-secret', sealed)).toBeUndefined();
  expect(openPayload('AccessToken', 'a-secret', 'short')).toBeUndefined();
});

it('seals the same text differently each time, and notices a changed one', () => {
  const key = derivedKey('x'.repeat(32), 'test');
  const [first, second] = [sealText(key, 'text'), sealText(key, 'text')];
  expect(first).not.toBe(second);
  expect(openText(key, first)).toBe('text');
  const bytes = Buffer.from(first, 'base64url');
  bytes[14] = (bytes[14] ?? 0) ^ 1;
  expect(openText(key, bytes.toString('base64url'))).toBeUndefined();
  expect(openText(derivedKey('x'.repeat(32), 'other'), first)).toBeUndefined();
});

it('keeps kinds apart: an id of one finds nothing of another', () => {
  expect(artifactId('AccessToken', 's')).not.toBe(artifactId('RefreshToken', 's'));
  expect(artifactId('AccessToken', 's')).toMatch(/^[\w-]{43}$/);
});
