import type { LockableField, UpdateKey } from '@sotto/contract/control/keys';
import { expect, it } from 'vitest';
import { firstLocked, locksAfter } from './locked-fields.ts';

it.each<[LockableField[], UpdateKey, LockableField[]]>([
  [[], { credit_limit_usd: 0, name: 'x' }, ['credit_limit_usd']],
  [[], { credit_limit_usd: null }, []],
  [['credit_limit_usd'], { credit_limit_usd: null }, []],
  [['credit_limit_usd'], { allowed_models: ['a/*'] }, ['credit_limit_usd', 'allowed_models']],
  [['disabled', 'openai_compatible'], { disabled: false, openai_compatible: true }, []],
  [[], { disabled: true, openai_compatible: false }, ['openai_compatible', 'disabled']],
  [['expires_at'], { name: 'x' }, ['expires_at']],
  [[], { requests_per_minute: 1, tokens_per_minute: 1 }, ['requests_per_minute', 'tokens_per_minute']],
])('a key with the locks %j has, after an admin sent %j, the locks %j', (locks, sent, after) => {
  expect(locksAfter(locks, sent, { isOwn: false })).toEqual(after);
});

it('an own change only ends locks', () => {
  expect(locksAfter(['credit_limit_usd'], { credit_limit_usd: null }, { isOwn: true })).toEqual([]);
  expect(locksAfter(['credit_limit_usd'], { credit_limit_usd: 3 }, { isOwn: true })).toEqual(['credit_limit_usd']);
  expect(locksAfter([], { credit_limit_usd: 3, disabled: true }, { isOwn: true })).toEqual([]);
});

it('a lock is about its own field, whatever is sent', () => {
  const locks = ['credit_limit_usd', 'disabled'] as const;
  expect(firstLocked(locks, { name: 'x', expires_at: null })).toBeUndefined();
  expect(firstLocked(locks, { credit_limit_usd: null })).toBe('credit_limit_usd');
  expect(firstLocked(locks, { disabled: false })).toBe('disabled');
});
