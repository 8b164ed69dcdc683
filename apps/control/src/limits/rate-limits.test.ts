import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { limitKeys } from './rate-limits.ts';

const keyOf = limitKeys('a session secret of the deployment');

it('gives a counter the same name in every control process with the same secret, under one prefix', () => {
  expect(keyOf('sign-in:10.0.0.1')).toMatch(/^control:limit:[\w-]{22}$/);
  expect(limitKeys('a session secret of the deployment')('sign-in:10.0.0.1')).toBe(keyOf('sign-in:10.0.0.1'));
});

it('gives a different name under another secret, and for another counted value', () => {
  expect(limitKeys('another session secret of it')('sign-in:10.0.0.1')).not.toBe(keyOf('sign-in:10.0.0.1'));
  expect(keyOf('mail:10.0.0.1')).not.toBe(keyOf('sign-in:10.0.0.1'));
});

it('reveals neither the counted value nor a plain hash of it', () => {
  const plain = hash('sha256', '10.0.0.1', 'base64url');
  expect(keyOf('10.0.0.1')).not.toContain('10.0.0.1');
  expect(keyOf('10.0.0.1')).not.toContain(plain.slice(0, 22));
});
