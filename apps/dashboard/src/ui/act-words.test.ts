import type { ActAnswer } from '@sotto/contract/control/audit';
import { describe, expect, it } from 'vitest';
import { actorOf, concernedOf, detailsOf } from './act-words.ts';

const act = (more: Partial<ActAnswer>): ActAnswer => ({
  ...{ id: 'a', at: '2026-11-21T00:00:00Z', actor: 'account', actor_account_id: 'ann-id', act: 'key_changed' },
  ...{ account_id: null, workspace_id: null, details: {}, actor_email: null, account_email: null },
  ...{ workspace_name: null, key_name: null, tag: null, invited_email: null },
  ...more,
});

describe('the details of an act', () => {
  it('tell limits that were removed, and amounts as money', () => {
    const details = { key_id: 'k', credit_limit_usd: null, requests_per_minute: null };
    expect(detailsOf(act({ details, key_name: 'laptop' }))).toBe(
      'key laptop, credit limit removed, requests per minute removed',
    );
    const set = { credit_limit_usd: 5, openai_compatible: false, renamed: true, tag_changed: true };
    expect(detailsOf(act({ details: set }))).toBe('credit limit $5.00, compatibility access off, renamed, tag changed');
    expect(detailsOf(act({ details: { expires_at: '2026-11-30T21:29:43.927Z' } }))).toMatch(
      /^expiry Nov 30, 2026, 9:29.PM$/,
    );
    expect(detailsOf(act({ act: 'key_created', details: { kind: 'inference', credit_limit_usd: null } }))).toBe(
      'kind inference',
    );
    expect(detailsOf(act({ act: 'account_grant_set', details: { amount_usd: null } }))).toBe(
      'the amount of every account',
    );
  });

  it('name what has a name, and show the start of the id of the rest', () => {
    const id = '04a7fc85-e436-48ca-ac2a-2f61110b8647';
    expect(detailsOf(act({ details: { key_id: id, overlap_hours: 24 } }))).toBe('key 04a7fc85, overlap hours 24');
    expect(detailsOf(act({ details: { settlement_id: id } }))).toBe('settlement 04a7fc85');
    expect(detailsOf(act({ details: { budget_id: id, scope: 'key', limit_usd: 3, key_id: id }, key_name: 'x' }))).toBe(
      'scope key, limit $3.00, key x',
    );
    expect(detailsOf(act({ details: { budget_id: id, scope: 'tag', limit_usd: 3 }, tag: 'R&D' }))).toBe(
      'tag R&D, scope tag, limit $3.00',
    );
    const details = { invitation_id: 'i', role: 'viewer' };
    expect(detailsOf(act({ details, invited_email: 'ben@example.com' }))).toBe(
      'invitation ben@example.com, role viewer',
    );
  });
});

it('people are named by their address, and by the id of their account once it is deleted', () => {
  expect(actorOf(act({ actor_email: 'ann@example.com' }))).toBe('ann@example.com');
  expect(actorOf(act({}))).toBe('Account ann-id');
  expect(actorOf(act({ actor: 'operator', actor_account_id: null }))).toBe('The operator');
  expect(actorOf(act({ actor: 'command_line', actor_account_id: null }))).toBe('Command line');
  expect(actorOf(act({ actor: 'app', actor_account_id: null }))).toBe('The app');
  expect(concernedOf(act({ account_id: 'ben-id' }))).toBe('Account ben-id');
  expect(concernedOf(act({}))).toBeNull();
});
