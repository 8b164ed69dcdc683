import { auditPage } from '@sotto/control';
import { createMemoryState, MemoryStore, StateUnavailableError } from '@sotto/state';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { openEpoch } from './fixtures.ts';

test('the audit finds nothing wrong in a state that is being rebuilt, and finds it in one that is open', async () => {
  const state = createMemoryState({ store: new MemoryStore(Date.now) });
  const account = { id: 'account', wallet_id: 'wallet', balance_nusd: '5', version: '1' };
  // Postgres with one account and no keys.
  const query = async (sql: string) => ({ rows: sql.includes('api_keys') ? [] : [account] });
  const page = () => auditPage({ pool: { query } as unknown as pg.Pool, state, sleep: async () => {} });
  await expect(page()).rejects.toThrow(StateUnavailableError);
  await openEpoch(state);
  expect((await page()).findings).toEqual([expect.objectContaining({ what: 'a wallet is not in the state' })]);
});
