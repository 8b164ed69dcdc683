import type { UptimeAnswer } from '@sotto/contract/control/catalog';
import type { KeyAnswer } from '@sotto/contract/control/keys';
import type { BudgetAnswer } from '@sotto/contract/control/workspaces';
import { describe, expect, it } from 'vitest';
import { type AttentionFacts, concernsOf, type Funds } from './attention.ts';

const now = Date.parse('2026-03-11T00:00:00Z');
const at = '2026-03-01T00:00:00Z';
const names = { members: new Map([['ben', 'ben@people.example']]), keys: new Map([['k1', 'laptop']]) };
const calm: AttentionFacts = {
  ...{ now, role: 'admin', ownAccountId: undefined, funds: undefined, budgets: [], keys: [], names },
  ...{ isUnconfirmed: false, ends: { requests: 100, failed: 4 }, measured: [] },
};
const texts = (facts: Partial<AttentionFacts>): readonly string[] =>
  concernsOf({ ...calm, ...facts }).map(({ tone, text }) => `${tone}: ${text}`);

const key = (id: string, more: Partial<KeyAnswer> = {}): KeyAnswer => ({
  ...{ id, name: `key ${id}`, kind: 'inference', workspace_id: 'w', created_by: 'ann', preview: '' },
  ...{ credit_limit_usd: null, spent_usd: 0, openai_compatible: true, created_at: at },
  ...{
    allowed_models: null,
    requests_per_minute: null,
    tokens_per_minute: null,
    tag: null,
    locked: [],
    old_secrets: [],
  },
  ...{ last_used_at: null, expires_at: null, disabled_at: null, revoked_at: null, ...more },
});
const budget = (limit: number, spent: number, more: Partial<BudgetAnswer> = {}): BudgetAnswer => ({
  ...{
    id: `b${limit}`,
    scope: 'workspace',
    member_id: null,
    key_id: null,
    tag: null,
    limit_usd: limit,
    spent_usd: spent,
  },
  ...{ is_default: false, month: '2026-03', month_ends_at: '2026-04-01T00:00:00Z', ...more },
});

it('says nothing where nothing needs attention', () => {
  const funds: Funds = { availableUsd: 9, daysLeft: 9, isLow: false, topUpProblem: undefined, renewsAt: undefined };
  const fine = { funds, budgets: [budget(50, 10)], keys: [key('a', { credit_limit_usd: 5, spent_usd: 1 })] };
  expect(texts({ ...fine, role: 'owner', ownAccountId: 'ann' })).toEqual([]);
});

it('names failed requests from five and a tenth of all on, to those who may see them', () => {
  const line = ['warn: 5 of 12 requests of the last seven days failed.'];
  expect(texts({ ends: { requests: 12, failed: 5 } })).toEqual(line);
  expect(texts({ ends: { requests: 12, failed: 5 }, role: 'viewer' })).toEqual([]);
  expect(texts({ ends: { requests: 4, failed: 4 } })).toEqual([]);
  expect(texts({ ends: { requests: 51, failed: 5 } })).toEqual([]);
});

describe('funds', () => {
  const of = (funds: Partial<Funds>) =>
    texts({
      funds: { availableUsd: 2, daysLeft: 9, isLow: false, topUpProblem: undefined, renewsAt: undefined, ...funds },
    });
  const renewsAt = '2026-04-01T00:00:00Z';

  it('are a concern when they are gone, low or end within three days', () => {
    expect(of({ availableUsd: 0 })).toEqual(['danger: Your balance is empty, so requests are rejected.']);
    expect(of({ daysLeft: 2 })).toEqual(['warn: Your balance is $2.00, which lasts about 2 days at the present rate.']);
    expect(of({ daysLeft: undefined, isLow: true })).toEqual(['warn: Your balance is $2.00.']);
    expect(of({ availableUsd: 2.999, daysLeft: undefined, isLow: true })).toEqual(['warn: Your balance is $2.99.']);
    expect(of({ topUpProblem: 'The card was declined.' })).toEqual([
      'warn: Auto top-up is paused: The card was declined.',
    ]);
  });

  it('with a grant, they are a concern when they end before the next one', () => {
    expect(of({ renewsAt, daysLeft: 25 })).toEqual([]);
    expect(of({ renewsAt, daysLeft: 9 })).toEqual([
      'warn: At the present rate your balance of $2.00 runs out in about 9 days, before the next grant on Apr 1.',
    ]);
    expect(of({ renewsAt, availableUsd: 0 })[0]).toContain('Ask your operator for more.');
  });
});

describe('budgets', () => {
  it('are a concern when they are used up, nearly, or on course to be; the most urgent comes first', () => {
    expect(texts({ budgets: [budget(20, 10), budget(10, 9), budget(5, 5), budget(0, 0)] }).length).toBe(1);
    expect(texts({ budgets: [budget(20, 10), budget(10, 9), budget(5, 5)] })).toEqual([
      'danger: The budget of the workspace is used up: requests are rejected until Apr 1.',
      'warn: The budget of the workspace is at 90%: $9.00 of $10.00 until Apr 1.',
      'info: The budget of the workspace runs out early: at the present rate $31.00 by Apr 1, its limit is $20.00.',
    ]);
  });

  it('of others are not shown to members', () => {
    const budgets = [
      budget(5, 5, { scope: 'member', member_id: 'ben' }),
      budget(6, 6, { scope: 'key', key_id: 'k1' }),
      budget(7, 7, { scope: 'tag', tag: 'R&D' }),
    ];
    const keys = [key('k1', { created_by: 'ben', tag: 'R&D' })];
    expect(texts({ role: 'admin', budgets, keys })).toEqual([
      expect.stringContaining('The budget of ben@people.example'),
      expect.stringContaining('The budget of laptop'),
      expect.stringContaining('The budget of R&D'),
    ]);
    expect(texts({ role: 'viewer', ownAccountId: 'ann', budgets, keys })).toEqual([]);
    expect(texts({ role: 'member', ownAccountId: 'ben', budgets, keys })).toHaveLength(3);
  });
});

describe('keys', () => {
  const near = { credit_limit_usd: 10, spent_usd: 9.5 };

  it('are a concern at and near their limit, unless they are revoked or of somebody else', () => {
    const keys = [key('a', near), key('b', { ...near, spent_usd: 10 }), key('c', { ...near, revoked_at: at })];
    expect(texts({ keys })).toEqual([
      'danger: The key key b is at its limit: $10.00 of $10.00. Its requests are rejected.',
      'warn: The key key a is near its limit: $9.50 of $10.00.',
    ]);
    expect(texts({ keys, role: 'viewer', ownAccountId: 'ben' })).toEqual([]);
  });

  it('are named a week before they expire and a week after, unless they are disabled', () => {
    // The last days are those of the reader, as in the table of keys.
    const midnight = (day: number) => new Date(2026, 2, day).toISOString();
    const keys = [
      key('a', { expires_at: midnight(20) }),
      key('b', { expires_at: midnight(16) }),
      key('c', { expires_at: midnight(12) }),
      key('d', { expires_at: midnight(9) }),
      key('e', { expires_at: midnight(1) }),
      key('f', { expires_at: midnight(12), disabled_at: at }),
    ];
    expect(texts({ keys, now: new Date(2026, 2, 11, 6).getTime() })).toEqual([
      'warn: The key key c expires on Mar 11, 2026.',
      'warn: The key key d expired on Mar 8, 2026. Its requests are rejected.',
      'info: The key key b expires on Mar 15, 2026.',
    ]);
    const many = ['a', 'b', 'c', 'd'].map((id) => key(id, { ...near, expires_at: '2026-03-12T00:00:00Z' }));
    expect(texts({ keys: many })).toEqual([
      'warn: 4 keys are at or near their limit.',
      'info: 4 keys have expired or expire within 7 days.',
    ]);
  });

  it('of a day, as the playground creates them, may expire; expired and disabled ones have no limit to be near', () => {
    const tab = { created_at: '2026-03-10T09:00:00Z', expires_at: '2026-03-10T21:00:00Z' };
    const keys = [key('a', { ...tab, ...near }), key('b', { ...near, disabled_at: at })];
    expect(texts({ keys })).toEqual([]);
    const missing = ['info: You have no key of your own in this workspace.'];
    expect(texts({ keys, role: 'member', ownAccountId: 'ann' })).toEqual(missing);
    const works = key('c', { ...near, ...tab, expires_at: '2026-03-11T09:00:00Z' });
    expect(texts({ keys: [works], role: 'member', ownAccountId: 'ann' })).toEqual([]);
    expect(texts({ keys: [{ ...works, expires_at: null }] })).toHaveLength(1);
    expect(texts({ keys: [key('d', { ...near, expires_at: '2026-03-02T00:00:00Z' })] })).toEqual([]);
  });

  it('are one line if they are many, as urgent as the most urgent of them', () => {
    const keys = ['a', 'b', 'c', 'd'].map((id) => key(id, near));
    expect(texts({ keys })).toEqual(['warn: 4 keys are at or near their limit.']);
    const soon = ['a', 'b', 'c'].map((id) => key(id, { expires_at: '2026-03-16T00:00:00Z' }));
    const late = key('d', { expires_at: '2026-03-10T00:00:00Z' });
    expect(texts({ keys: [...soon, late] })).toEqual(['warn: 4 keys have expired or expire within 7 days.']);
  });

  it('are missed by a member who has none, and not by a viewer, who cannot have one', () => {
    const keys = [key('a')];
    const missing = ['info: You have no key of your own in this workspace.'];
    expect(texts({ keys, role: 'member', ownAccountId: 'ben' })).toEqual(missing);
    expect(texts({ keys, role: 'viewer', ownAccountId: 'ben' })).toEqual([]);
    expect(texts({ keys, role: 'member', ownAccountId: 'ann' })).toEqual([]);
  });
});

it('names the provider of a model that failed often in the last day', () => {
  const route = (provider: string, success_rate: number | null): UptimeAnswer['routes'][number] => ({
    ...{ provider, privacy_class: 'private', success_rate, window_hours: 24, requests: 40 },
    ...{ ttft_ms: null, throughput_tps: null, series: [] },
  });
  const uptime: UptimeAnswer = {
    model: 'acme/small',
    routes: [route('acme', 0.8), route('beta', 0.99), route('c', null)],
  };
  expect(concernsOf({ ...calm, measured: [uptime] })).toMatchObject([
    {
      text: 'acme had an incident with acme/small: 80% of requests succeeded in the last 24 hours.',
      to: '/models',
      model: 'acme/small',
    },
  ]);
});
