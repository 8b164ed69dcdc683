import { expect, it } from 'vitest';
import { wordsOf } from './alert-words.ts';

const alert = {
  ...{
    workspace: 'Team',
    workspace_id: 'w',
    account_id: 'a',
    budget_id: 'b',
    percent: 75,
    month: '2026-11',
    recipient: null,
  },
  ...{
    key_id: null,
    key_name: null,
    key_creator_id: null,
    key_creator_email: null,
    member_id: null,
    member_email: null,
    tag_id: null,
    tag: null,
  },
};

it.each([
  ['15100000', '20000000', '$0.0151 of $0.02'],
  ['7500000000', '10000000000', '$7.50 of $10.00'],
  ['9999999999', '10000000000', '$9.999999999 of $10.00'],
  ['800000000', '1000000000', '$0.80 of $1.00'],
  ['1500', '2000', '$0.0000015 of $0.000002'],
  ['0', '0', '$0.00 of $0.00'],
])('shows %s of %s nano-USD as different amounts', (spent_nusd, limit_nusd, shown) => {
  expect(wordsOf({ ...alert, spent_nusd, limit_nusd }).sentences[1]).toBe(`Charged in 2026-11 (UTC) so far: ${shown}.`);
});
