import { randomBytes, randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import { type AccountRef, createMemoryState, MemoryStore, monthOf, openAccountRef, sealAccountRef } from '@sotto/state';
import { whileHeld } from '@sotto/test-servers';
import { beforeEach, expect, it } from 'vitest';
import { deleteAccount } from '../account-deletion/delete-account.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { insertKey, type KeyChange, updateKey } from '../keys/key-store.ts';
import { auditLedger } from '../money-audit/audit-ledger.ts';
import { type KeyRow, keyProjection, keyQuery } from '../projection/projected-rows.ts';
import { Projector } from '../projection/projector.ts';
import type { Settler } from '../settler/settler.ts';
import { postgresEpochLedger } from '../shards/epoch-ledger.ts';
import { explained } from '../testing/explained.integration.ts';
import { done } from '../testing/outcomes.integration.ts';
import { openTestDatabase, settledChat } from '../testing/test-database.integration.ts';
import { listBudgets, removeBudget, setBudget } from '../workspaces/budget-store.ts';
import { workspacesOn } from '../workspaces/workspaces-on.integration.ts';
import { bookSettlements } from './book-settlements.ts';
import { budgetIdsOf } from './budget-months.ts';
import { creditAccount } from './post-transaction.ts';
import { tagIdOf } from './tag-id.ts';

const { pool } = await openTestDatabase();
const now = Date.now();
const [month, january] = [monthOf(now), '2026-01'];
const { as, join, shared } = workspacesOn(pool, now);
const accountRefKey = randomBytes(32);
const terms = { accountRefKey, limits: { requests: 60, tokens: 60 } };

/**
 * A charge counts in the budget of the tag that its key had when the request was admitted, whatever the key's tag is later. What could
 * break that:
 *
 * - The tag changes while a request runs, or before its settlement is booked: the reference of the settlement has the tag of then.
 * - A ticket is bought before the change and used after it. Redis would count it in the new tag and the ledger in the old one. So the
 *   change raises the key's generation, and the ticket is refused.
 * - One booking has charges of one key with two tags: it writes one row of the key and one of each tag.
 * - A settlement is booked twice: it tells the state the same sums again.
 * - A budget is set in the middle of a month: it counts what the month cost with this tag, and not what its present keys cost with
 *   others. It waits for a booking that did not see it.
 * - Redis is lost after the change: the rebuild restores a hold in the budget of its reference's tag.
 *
 * `test/money/state/contract` has the races for the last cent, and late charges, in both drivers.
 */

let owner: AccountRef;
let other: AccountRef;
/** A workspace with a key of the owner and one of a member. */
beforeEach(async () => {
  const place = await shared();
  const member = await join(place, 'member');
  const { accountId } = place.owner;
  const { workspaceId } = place;
  await creditAccount(pool, { accountId, amountNusd: 1_000n, kind: 'top_up', reference: randomUUID() });
  const keyBy = async (createdBy: string): Promise<AccountRef> => {
    const of = {
      accountId,
      workspaceId,
      kind: 'inference',
      name: 'x',
      openaiCompatible: true,
      creditLimitNusd: null,
    } as const;
    return { accountId, workspaceId, keyId: (await insertKey(pool, { ...of, createdBy, tag: 'R&D' })).id };
  };
  [owner, other] = [await keyBy(accountId), await keyBy(member.accountId)];
});

const change = ({ keyId }: AccountRef, by: KeyChange) => inTransaction(pool, (client) => updateKey(client, keyId, by));
const projected = async ({ keyId }: AccountRef) => {
  const { rows } = await pool.query<KeyRow>(`${keyQuery} where k.id = $1`, [keyId]);
  const [row] = rows;
  return row === undefined ? expect.fail('there is no key') : keyProjection(row, terms);
};
const setTag = (limitNusd: bigint, tag = 'R&D') =>
  done(setBudget(pool, { ...owner, maxima: usualMaxima }, { limitNusd, tag }, now));
const spentUsd = async () => {
  const { data } = await done(listBudgets(pool, owner, { page: { limit: 100 }, now }));
  return Object.fromEntries(data.map(({ scope, tag, spent_usd }) => [tag ?? scope, Math.round(spent_usd * 1e9)]));
};
/** A charge as its settlement names its owner: with the tag of the admission. */
const charge = (of: AccountRef, nusd: number, tag: string | null, at = month) => ({
  owner: { ...of, tagId: tagIdOf(of.workspaceId, tag) },
  settlement: { ...settledChat, id: randomUUID(), chargeNusd: String(nusd), at: now, month: at },
});
/** Books, and returns the spending of tags that the state is told: the name of the budget, the month and the sum. */
async function book(...batch: ReturnType<typeof charge>[]): Promise<ReadonlySet<string>> {
  const { wallets } = await bookSettlements(pool, batch);
  const told = wallets.flatMap(({ budgets }) => budgets.filter(({ budgetId }) => budgetId.startsWith('tag:')));
  return new Set(told.map(({ budgetId, month: of, spentNusd }) => `${budgetId} ${of} ${spentNusd}`));
}
/** The same for tags, months and sums. */
const told = (...sums: (readonly [tag: string, month: string, nusd: number])[]): ReadonlySet<string> =>
  new Set(sums.map(([tag, of, nusd]) => `${nameOf(tag)} ${of} ${nusd}`));
const nameOf = (tag: string): string | undefined =>
  budgetIdsOf(
    { id: owner.keyId, account_id: owner.accountId, workspace_id: owner.workspaceId, created_by: owner.accountId },
    tagIdOf(owner.workspaceId, tag),
  )[2];

it('a charge counts for the tag of its admission, of whichever key, and a later tag moves nothing', async () => {
  await setTag(100n);
  await setTag(100n, 'Sales');
  const early = charge(owner, 5, 'R&D');
  expect(await book(early, charge(other, 6, 'R&D'))).toEqual(told(['R&D', month, 11]));
  // Admitted before the change, and booked after it.
  const late = charge(owner, 7, 'R&D');
  await change(owner, { tag: 'Sales' });
  expect(await book(late)).toEqual(told(['R&D', month, 18]));
  expect(await book(charge(owner, 20, 'Sales'), charge(owner, 9, 'R&D'), early)).toEqual(
    told(['R&D', month, 27], ['Sales', month, 20]),
  );
  await change(owner, { tag: null });
  expect(await book(charge(owner, 3, null))).toEqual(told());
  expect(await spentUsd()).toEqual({ 'R&D': 27, Sales: 20 });
  const { rows } = await pool.query('select spent_nusd::int as nusd from key_months where key_id = $1', [owner.keyId]);
  expect(rows).toEqual([{ nusd: 5 + 7 + 20 + 9 + 3 }]);
  expect(await auditLedger(pool)).toEqual([]);
});

it('a charge counts in the month of its hold, once', async () => {
  await setTag(100n);
  const late = charge(owner, 5, 'R&D', january);
  expect(await book(late)).toEqual(told(['R&D', january, 5]));
  expect(await book(late, charge(owner, 1, 'R&D'))).toEqual(told(['R&D', january, 5], ['R&D', month, 1]));
  expect(await spentUsd()).toEqual({ 'R&D': 1 });
});

it('a budget that is set in the middle of a month counts what the month cost with its tag', async () => {
  await book(charge(owner, 5, 'R&D'), charge(other, 6, 'R&D'), charge(other, 9, 'Sales'), charge(other, 1, null));
  await change(other, { tag: 'R&D' });
  expect(await setTag(100n)).toMatchObject({ scope: 'tag', tag: 'R&D', spent_usd: 11e-9, limit_usd: 1e-7 });
  expect(await setTag(50n)).toMatchObject({ spent_usd: 11e-9, limit_usd: 5e-8 });
  // The same tag of another workspace, and the other budgets, are not concerned.
  await done(setBudget(pool, { ...owner, maxima: usualMaxima }, { limitNusd: 99n }, now));
  const elsewhere = await shared();
  await done(
    setBudget(pool, { ...as(elsewhere.owner, elsewhere), maxima: usualMaxima }, { limitNusd: 9n, tag: 'R&D' }, now),
  );
  expect(await spentUsd()).toEqual({ 'R&D': 11, workspace: 21 });
});

it('a new budget waits for a booking that did not see it', async () => {
  const booking = { rows: 'select 1 from accounts where id = $1 for update', values: [owner.accountId] };
  const set = await whileHeld(pool, { ...booking, waiting: 'select wallet_id, balance_nusd' }, [() => setTag(9n)]);
  expect(set).toHaveLength(1);
});

it('alerts at the percents of its limit, and tells the state nothing once it is removed and forgotten', async () => {
  const { id } = await setTag(10n);
  await book(charge(owner, 5, 'R&D'), charge(other, 4, 'R&D'), charge(owner, 9, 'Sales'));
  const percents = async () => {
    const found = await pool.query('select percent from budget_alerts where budget_id = $1 order by 1', [id]);
    return found.rows.map(({ percent }) => percent);
  };
  expect(await percents()).toEqual([50, 80]);
  await removeBudget(pool, owner, id, now);
  expect(await percents()).toEqual([]);
  await book(charge(owner, 50, 'R&D'));
  expect(await percents()).toEqual([]);
  expect(await spentUsd()).toEqual({});
  // It counts the whole month again.
  expect(await setTag(100n)).toMatchObject({ id, spent_usd: 59e-9 });
});

it('a key names the budget of its tag, and only a new tag makes its tickets invalid', async () => {
  const before = await projected(owner);
  expect(before.budgetIds).toContain(nameOf('R&D'));
  expect(openAccountRef(accountRefKey, before.record.accountRef)?.tagId).toBe(tagIdOf(owner.workspaceId, 'R&D'));
  await change(owner, { tag: 'R&D', name: 'y', lockedFields: ['tag'] });
  expect((await projected(owner)).generation).toBe(before.generation);
  await change(owner, { tag: 'Sales' });
  const after = await projected(owner);
  expect(after.generation).toBe(before.generation + 1);
  expect(after.budgetIds).toEqual(before.budgetIds.map((id) => (id === nameOf('R&D') ? nameOf('Sales') : id)));
  await change(owner, { tag: null });
  const without = await projected(owner);
  expect([without.generation, without.budgetIds.length]).toEqual([before.generation + 2, 3]);
  expect(openAccountRef(accountRefKey, without.record.accountRef)).toEqual(owner);
});

it('a rebuild restores a hold in the budget of the tag that it was admitted with', async () => {
  const state = createMemoryState({ store: new MemoryStore(Date.now) });
  const projector = new Projector({
    pool,
    state,
    ...terms,
    events: { projected: () => {}, unreadablePreferences: () => {} },
  });
  const ledger = postgresEpochLedger({ pool, projector, settler: {} as Settler, accountRefKey: [accountRefKey] });
  const sealed = sealAccountRef(accountRefKey, { ...owner, tagId: tagIdOf(owner.workspaceId, 'R&D') });
  await change(owner, { tag: 'Sales' });
  const ref = ledger.openRef(sealed) ?? expect.fail('the reference cannot be opened');
  expect((await ledger.attribute([ref])).get(ref)?.budgetIds).toEqual([
    ...budgetIdsOf(
      { id: owner.keyId, account_id: owner.accountId, workspace_id: owner.workspaceId, created_by: owner.accountId },
      tagIdOf(owner.workspaceId, 'R&D'),
    ),
  ]);
});

it('the spending of a tag is found by the index', async () => {
  const plan = await explained(pool, async (database) => {
    const events = { projected: () => {}, unreadablePreferences: () => {} };
    const state = createMemoryState({ store: new MemoryStore(Date.now) });
    await new Projector({ ...terms, pool: database, state, events }).budgets(owner.workspaceId);
  });
  expect(plan).toContain('tag_months_account_id_tag_id_month_pk');
  expect(plan).toContain('key_months_key_id_month_pk');
  expect(plan).not.toContain('Seq Scan');
});

it('the deletion of the account that pays erases the words of its tags', async () => {
  await setTag(9n);
  const { rows } = await pool.query<{ user_id: string }>('select user_id from accounts where id = $1', [
    owner.accountId,
  ]);
  await deleteAccount(pool, rows[0]?.user_id ?? '', {
    month,
    by: { actor: { kind: 'command_line' }, withWorkspaces: true },
  });
  const left = await pool.query('select tag, limit_nusd from budgets where workspace_id = $1', [owner.workspaceId]);
  expect(left.rows).toEqual([{ tag: null, limit_nusd: null }]);
});
