import type { BudgetAnswer } from '@sotto/contract/control/workspaces';
import type { RefusalKind } from '@sotto/wire';
import { expect, it } from 'vitest';
import { afterRemoval, ownerOf, projectedUsd, refusedBy, shareOf } from './budget-rules.ts';

const budget: BudgetAnswer = {
  ...{ id: 'b', scope: 'workspace', member_id: null, key_id: null, tag: null, limit_usd: 100, spent_usd: 20 },
  ...{ is_default: false, month: '2026-11', month_ends_at: '2026-12-01T00:00:00Z' },
};
const at = (iso: string): number => Date.parse(iso);

it('projects the cost of the month by the time that has passed', () => {
  expect(projectedUsd(budget, at('2026-11-11T00:00:00Z'))).toBeCloseTo(60);
  expect(projectedUsd(budget, at('2026-11-21T00:00:00Z'))).toBeCloseTo(30);
  expect(projectedUsd({ ...budget, spent_usd: 0 }, at('2026-11-21T00:00:00Z'))).toBe(0);
});

it('projects nothing on the first day, and what was spent once the month is over', () => {
  expect(projectedUsd(budget, at('2026-11-01T23:59:00Z'))).toBeUndefined();
  expect(projectedUsd(budget, at('2026-12-02T00:00:00Z'))).toBeCloseTo(20);
});

it.each([
  [100, 0, 'open'],
  [100, 79.9, 'open'],
  [100, 80, 'near'],
  [100, 100, 'reached'],
  [100, 120, 'reached'],
  [0, 0, 'reached'],
] as const)('of $%d, $%d makes it %s', (limit, spent, state) => {
  expect(shareOf({ ...budget, limit_usd: limit, spent_usd: spent }).state).toBe(state);
});

it('names what a budget limits, also when it is gone, and not before the names are loaded', () => {
  const names = { members: new Map([['m', 'ann@people.example']]), keys: new Map([['k', 'laptop']]) };
  expect(ownerOf(budget, names)).toBe('Whole workspace');
  expect(ownerOf({ ...budget, member_id: 'm' }, names)).toBe('ann@people.example');
  expect(ownerOf({ ...budget, member_id: 'x' }, names)).toBe('A former member');
  expect(ownerOf({ ...budget, key_id: 'k' }, names)).toBe('laptop');
  expect(ownerOf({ ...budget, tag: 'R&D' }, names)).toBe('R&D');
  expect(ownerOf({ ...budget, key_id: 'x' }, names)).toBe('A former key');
  const loading = { members: undefined, keys: undefined };
  expect(ownerOf({ ...budget, member_id: 'm' }, loading)).toBe('…');
  expect(ownerOf({ ...budget, key_id: 'k' }, loading)).toBe('…');
});

it('says that a member whose budget is removed has the default one, if there is one, and the owner none', () => {
  const [member, owner] = [
    { ...budget, member_id: 'm' },
    { ...budget, member_id: 'o' },
  ];
  const loaded = {
    settings: { member_budget_usd: 20 },
    members: [
      { account_id: 'o', role: 'owner' },
      { account_id: 'm', role: 'viewer' },
    ],
  } as const;
  const unlimited = 'a month may then cost any amount that the balance covers';
  expect(afterRemoval(member, loaded)).toBe('the budget of each member, $20.00 a month, then applies');
  for (const each of [owner, budget, { ...budget, key_id: 'k' }, { ...budget, member_id: 'former' }])
    expect(afterRemoval(each, loaded)).toBe(unlimited);
  expect(afterRemoval(member, { ...loaded, settings: { member_budget_usd: null } })).toBe(unlimited);
  expect(afterRemoval(member, { ...loaded, settings: undefined })).toBe('this limit then applies no more');
});

it('counts the requests that a budget refused, by the keys that it limits', () => {
  const refusal = (kind: RefusalKind, key_id: string, count: number) =>
    ({ kind, key_id, count, hour: '2026-11-30T10:00:00Z', status: 402 }) as const;
  const keys = [
    { id: 'k', created_by: 'm', tag: 'ci' },
    { id: 'l', created_by: 'n', tag: null },
  ];
  const refusals = [
    ...[refusal('workspace_budget', 'k', 1), refusal('workspace_budget', 'l', 2), refusal('balance', 'k', 4)],
    ...[refusal('member_budget', 'l', 8), refusal('tag_budget', 'k', 16), refusal('key_budget', 'k', 32)],
  ];
  expect(refusedBy(budget, refusals, keys)).toBe(3);
  expect(refusedBy({ ...budget, scope: 'member', member_id: 'n' }, refusals, keys)).toBe(8);
  expect(refusedBy({ ...budget, scope: 'member', member_id: 'm' }, refusals, keys)).toBe(0);
  expect(refusedBy({ ...budget, scope: 'tag', tag: 'ci' }, refusals, keys)).toBe(16);
  expect(refusedBy({ ...budget, scope: 'key', key_id: 'k' }, refusals, keys)).toBe(32);
});
