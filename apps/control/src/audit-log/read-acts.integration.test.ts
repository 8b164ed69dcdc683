import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { explained } from '../testing/explained.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { readActs } from './read-acts.ts';

const { pool } = await openTestDatabase();
const id = randomUUID();

it.each([
  ['all', {}, 'acts_at_idx'],
  ['an actor', { actor_account_id: id }, 'acts_actor_idx'],
  ['an account', { account_id: id }, 'acts_account_idx'],
  ['a workspace', { workspace_id: id }, 'acts_workspace_idx'],
  ['a kind', { act: ['account_deleted'] }, 'acts_act_idx'],
  ['a time', { from: new Date(0), to: new Date() }, 'acts_at_idx'],
] as const)('acts of %s are read by an index in the order of the answer', async (_, filters, index) => {
  const plan = await explained(pool, (database) => readActs(database, { kind: 'operator' }, { limit: 10, ...filters }));
  expect(plan).toContain(`Index Scan Backward using ${index} on acts`);
  expect(plan).not.toContain('Sort');
});
