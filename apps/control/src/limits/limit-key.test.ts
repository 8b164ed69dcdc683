import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { limitKeys } from './limit-key.ts';

const keyOf = limitKeys('a session secret of the deployment');

it('names a counter alike in every control that has the secret, under one prefix', () => {
  expect(keyOf('sign-in:10.0.0.1')).toMatch(/^control:limit:[\w-]{22}$/);
  expect(limitKeys('a session secret of the deployment')('sign-in:10.0.0.1')).toBe(keyOf('sign-in:10.0.0.1'));
});

it('names it otherwise under another secret, and for whatever else is counted', () => {
  expect(limitKeys('another session secret of it')('sign-in:10.0.0.1')).not.toBe(keyOf('sign-in:10.0.0.1'));
  expect(keyOf('mail:10.0.0.1')).not.toBe(keyOf('sign-in:10.0.0.1'));
});

it('tells neither what is counted nor a plain hash of it', () => {
  const plain = hash('sha256', '10.0.0.1', 'base64url');
  expect(keyOf('10.0.0.1')).not.toContain('10.0.0.1');
  expect(keyOf('10.0.0.1')).not.toContain(plain.slice(0, 22));
});
