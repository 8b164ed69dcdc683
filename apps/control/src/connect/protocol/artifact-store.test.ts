import { expect, it } from 'vitest';
import { artifactId, openPayload, sealPayload } from './artifact-store.ts';

it('opens a payload only with its secret', () => {
  const sealed = sealPayload('AccessToken', 'a-secret', { jti: 'a-secret', scope: 'inference' });
  expect(sealed).not.toContain('a-secret');
  expect(openPayload('AccessToken', 'a-secret', sealed)).toEqual({ jti: 'a-secret', scope: 'inference' });
  expect(openPayload('AccessToken', 'b-secret', sealed)).toBeUndefined();
  expect(openPayload('RefreshToken', 'a-secret', sealed)).toBeUndefined();
  expect(openPayload('AccessToken', 'a-secret', 'short')).toBeUndefined();
});

it('keeps kinds apart: an id of one kind finds nothing of another', () => {
  expect(artifactId('AccessToken', 's')).not.toBe(artifactId('RefreshToken', 's'));
  expect(artifactId('AccessToken', 's')).toMatch(/^[\w-]{43}$/);
});
