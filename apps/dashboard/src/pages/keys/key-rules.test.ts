import type { KeyAnswer } from '@sotto/contract/control/keys';
import { describe, expect, it } from 'vitest';
import { findKeys, type KeySearch, limitOf, mayChange } from './key-rules.ts';

const key = (changes: Partial<KeyAnswer>): KeyAnswer => ({
  id: 'id',
  name: 'laptop',
  kind: 'inference',
  workspace_id: 'workspace',
  created_by: 'ann',
  preview: 'sotto_inf_…abcd',
  credit_limit_usd: null,
  spent_usd: 0,
  openai_compatible: true,
  allowed_models: null,
  requests_per_minute: null,
  tokens_per_minute: null,
  tag: null,
  created_at: '2026-11-01T00:00:00.000Z',
  last_used_at: null,
  expires_at: null,
  disabled_at: null,
  revoked_at: null,
  locked: [],
  old_secrets: [],
  ...changes,
});

describe('who may change a key', () => {
  it.each([
    ['viewer', 'ann', 'inference', false],
    ['member', 'ann', 'inference', true],
    ['member', 'ben', 'inference', false],
    ['member', undefined, 'inference', false],
    ['admin', 'ben', 'inference', true],
    ['admin', 'ann', 'management', false],
    ['owner', 'ben', 'management', true],
  ] as const)('a %s (%s) and a key of ann for %s: %s', (role, accountId, kind, may) => {
    expect(mayChange(key({ kind }), { role, accountId })).toBe(may);
  });

  it('nobody, once it is revoked', () => {
    expect(mayChange(key({ revoked_at: '2026-11-02T00:00:00.000Z' }), { role: 'owner', accountId: 'ann' })).toBe(false);
  });
});

it.each([
  [null, 5, undefined],
  [10, 5, 'open'],
  [10, 9, 'near'],
  [10, 10, 'reached'],
  [10, 11, 'reached'],
  [0, 0, 'reached'],
] as const)('a key with a limit of %s that spent %s is %s', (limit, spent, state) => {
  expect(limitOf(key({ credit_limit_usd: limit, spent_usd: spent }))?.state).toBe(state);
});

it('finds keys by a part of their name, the newest first and revoked ones last', () => {
  const keys = [
    key({ id: '1', name: 'Laptop' }),
    key({ id: '2', name: 'job', created_at: '2026-11-03T00:00:00.000Z' }),
    key({
      id: '3',
      name: 'old laptop',
      created_at: '2026-11-04T00:00:00.000Z',
      revoked_at: '2026-11-05T00:00:00.000Z',
    }),
    key({ id: '4', name: 'tab', expires_at: '2026-11-05T00:00:00.000Z' }),
    key({ id: '5', name: 'tab', created_at: '2026-11-05T00:00:00.000Z', expires_at: '2026-11-05T12:00:00.000Z' }),
  ];
  const ids = (search: KeySearch) =>
    findKeys(keys, search, { ownerOf: () => undefined, now: Date.parse('2026-11-06T00:00:00Z') }).map(({ id }) => id);
  // One that expired today explains the refusals of today.
  expect(ids({})).toEqual(['5', '2', '1']);
  expect(ids({ revoked: true })).toEqual(['5', '2', '1', '3', '4']);
  expect(ids({ q: ' LAP', revoked: true })).toEqual(['1', '3']);
  // Not the word for an owner who is not loaded yet.
  expect(ids({ q: 'undefined' })).toEqual([]);
});
