import { randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import { type AccountRef, monthOf, type ToldSettlement } from '@sotto/state';
import { whileHeld } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { insertKey } from '../keys/key-store.ts';
import { auditLedger } from '../money-audit/audit-ledger.ts';
import { done } from '../testing/outcomes.integration.ts';
import { makeOwners, openTestDatabase, settledChat } from '../testing/test-database.integration.ts';
import { setBudget } from '../workspaces/budget-store.ts';
import { bookSettlements } from './book-settlements.ts';
import { creditAccount } from './post-transaction.ts';

const { pool } = await openTestDatabase();

const november = Date.parse('2026-11-01T00:01:00Z');

async function makeOwner(): Promise<AccountRef> {
  const [owner] = await makeOwners(pool, 1);
  const { accountId } = owner;
  await creditAccount(pool, { accountId, amountNusd: 1000n, kind: 'top_up', reference: `test:${accountId}` });
  return owner;
}
const charge = (chargeNusd: number, at: number, month = monthOf(at)): ToldSettlement => ({
  ...{ ...settledChat, id: randomUUID(), chargeNusd: String(chargeNusd), at, month },
});
/** Books, and returns the spending that the state is told. */
async function book(owner: AccountRef, ...settlements: ToldSettlement[]) {
  const batch = settlements.map((settlement) => ({ settlement, owner }));
  const { wallets } = await bookSettlements(pool, batch);
  const spent = wallets.flatMap(({ budgets }) => budgets.map(({ month, spentNusd }) => [month, spentNusd] as const));
  return Object.fromEntries(spent);
}
const setOne = (owner: AccountRef) =>
  done(setBudget(pool, { ...owner, maxima: usualMaxima }, { limitNusd: 1_000_000_000n }, november));

it('books a late charge to the month of its hold, once, and tells the sum again', async () => {
  const owner = await makeOwner();
  await setOne(owner);
  const late = charge(5, november, '2026-10');
  expect(await book(owner, late)).toEqual({ '2026-10': 5n });
  const next = charge(7, november, '2026-11');
  expect(await book(owner, late, next)).toEqual({ '2026-10': 5n, '2026-11': 7n });
  expect(await setOne(owner)).toMatchObject({ month: '2026-11', spent_usd: 7e-9 });
  expect(await auditLedger(pool)).toEqual([]);
});

it('counts what the month had cost before the budget was set', async () => {
  const owner = await makeOwner();
  expect(await book(owner, charge(5, november, '2026-11'))).toEqual({});
  expect((await setOne(owner)).spent_usd).toBe(5e-9);
});

it('tells that nothing was spent before the first charge of a month, and after one of nothing', async () => {
  const owner = await makeOwner();
  expect((await setOne(owner)).spent_usd).toBe(0);
  expect(await book(owner, charge(0, november, '2026-11'))).toEqual({ '2026-11': 0n });
  expect((await setOne(owner)).spent_usd).toBe(0);
});

it('notes an alert once if two keys of one batch pass it together', async () => {
  const owner = await makeOwner();
  const key = { ...owner, kind: 'inference', name: 'y', openaiCompatible: true, creditLimitNusd: undefined } as const;
  const other = { ...owner, keyId: (await insertKey(pool, key)).id };
  const budget = await done(setBudget(pool, { ...owner, maxima: usualMaxima }, { limitNusd: 10n }, Date.now()));
  const settlement = charge(4, Date.now());
  const batch = [owner, other].map((of) => ({ settlement: { ...settlement, id: randomUUID() }, owner: of }));
  const { wallets } = await bookSettlements(pool, batch);
  expect(wallets.flatMap(({ budgets }) => budgets.map(({ spentNusd }) => spentNusd))).toContain(8n);
  const { rows } = await pool.query(
    `select a.percent, count(d.id)::int as deliveries from budget_alerts a left join alert_deliveries d on d.alert_id = a.id
     where a.budget_id = $1 group by a.percent order by a.percent`,
    [budget.id],
  );
  expect(rows).toEqual([
    { percent: 50, deliveries: 0 },
    { percent: 80, deliveries: 1 },
  ]);
});

it('makes a new budget wait for a booking that did not see it', async () => {
  const owner = await makeOwner();
  const booking = { rows: 'select 1 from accounts where id = $1 for update', values: [owner.accountId] };
  const set = await whileHeld(pool, { ...booking, waiting: 'select wallet_id, balance_nusd' }, [() => setOne(owner)]);
  expect(set).toHaveLength(1);
});
