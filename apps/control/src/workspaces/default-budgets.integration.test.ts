import { whileHeld } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import { deleteAccount } from '../account-deletion/delete-account.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { explained } from '../testing/explained.integration.ts';
import { done } from '../testing/outcomes.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { defaultBudgetIsDue, giveDefaultBudget, setBudgetSettings } from './budget-settings.ts';
import { listBudgets, removeBudget, setBudget } from './budget-store.ts';
import { claimWorkspaces } from './claim-workspaces.ts';
import { removeMember } from './member-store.ts';
import { type Person, type Shared, workspacesOn } from './workspaces-on.integration.ts';

const { pool } = await openTestDatabase();
const now = Date.now();
const { acceptOffer, as, join, offer, shared } = workspacesOn(pool, now);
const page = { limit: 100 };

/** Sets a budget of all members, and then one of this member. */
async function ownBudget(place: Shared, { accountId: memberId }: Person) {
  const settings = { alertPercents: [100], memberBudgetNusd: 20_000_000_000n };
  await done(setBudgetSettings(pool, as(place.owner, place), settings, now));
  return done(setBudget(pool, as(place.owner, place), { limitNusd: 5_000_000_000n, memberId }, now));
}

/** Returns the budgets of members: whose they are, their limits in USD, and whether they are default ones. */
async function memberBudgets(place: Shared) {
  const { data } = await done(listBudgets(pool, as(place.owner, place), { page, now }));
  return data.map(({ member_id, limit_usd, is_default }) => [member_id, limit_usd, is_default]);
}

describe('the default budget of a member', () => {
  const userOf = async ({ accountId }: Person): Promise<string> =>
    (await pool.query<{ user_id: string }>('select user_id from accounts where id = $1', [accountId])).rows[0]
      ?.user_id ?? '';
  const claim = async (who: Person): Promise<void> => {
    const userId = await userOf(who);
    await inTransaction(pool, (client) => claimWorkspaces(client, userId));
  };
  const settings = { alertPercents: [100], memberBudgetNusd: 20_000_000_000n };

  it.each<[string, (ben: Person, place: Shared) => Promise<unknown>]>([
    ['is removed', (ben, place) => removeMember(pool, { ...as(place.owner, place), memberId: ben.accountId })],
    ['deletes their account', async (ben) => deleteAccount(pool, await userOf(ben), { month: '2026-01' })],
    ['has their account claimed', claim],
  ])('ends when the member %s, and no other', async (_, leave) => {
    const [place, elsewhere] = [await shared(), await shared()];
    const [ann, ben] = [await join(place, 'member'), await join(place, 'member')];
    await done(acceptOffer(pool, await offer(elsewhere.owner, ann, elsewhere, 'member'), now));
    for (const each of [place, elsewhere]) await done(setBudgetSettings(pool, as(each.owner, each), settings, now));
    expect(await memberBudgets(place)).toHaveLength(2);
    await leave(ben, place);
    expect(await memberBudgets(place)).toEqual([[ann.accountId, 20, true]]);
    expect(await memberBudgets(elsewhere)).toEqual([[ann.accountId, 20, true]]);
  });

  it('ends when the account of the owner is claimed, and one of their own stays', async () => {
    const place = await shared();
    const [ann, ben] = [await join(place, 'member'), await join(place, 'member')];
    await ownBudget(place, ben);
    expect(await memberBudgets(place)).toContainEqual([ann.accountId, 20, true]);
    await claim(place.owner);
    expect(await memberBudgets(place)).toEqual([[ben.accountId, 5, false]]);
  });

  it('is looked for by the index, which has only workspaces with one', async () => {
    const plan = await explained(pool, (database) => database.query(`select ${defaultBudgetIsDue}`));
    expect(plan).toContain('workspaces_member_budget_idx');
    expect(plan).toContain('budgets_scope');
    expect(plan).not.toContain('Seq Scan');
  });

  it('is not waited for in a workspace without one, while the account of the owner is being deleted', async () => {
    // A person accepts an invitation, and then control looks for their default budget. It holds the workspace, which the deletion
    // waits for, and waited for the owner's account, which the deletion holds.
    const place = await shared();
    await join(place, 'member');
    await inTransaction(pool, async (client) => {
      await client.query('select 1 from accounts where id = $1 for no key update', [place.owner.accountId]);
      await giveDefaultBudget(pool, place.workspaceId, now);
    });
    expect(await memberBudgets(place)).toEqual([]);
  });

  it('is not given to a member whose account is deleted meanwhile', async () => {
    const place = await shared();
    await done(setBudgetSettings(pool, as(place.owner, place), settings, now));
    const ben = await join(place, 'member');
    await whileHeld(
      pool,
      {
        rows: 'select 1 from accounts where id = $1 for update',
        values: [ben.accountId],
        waiting: 'select wallet_id, balance_nusd, version from accounts',
        meanwhile: (client) => client.query('delete from workspace_members where account_id = $1', [ben.accountId]),
      },
      [() => giveDefaultBudget(pool, place.workspaceId, now)],
    );
    expect(await memberBudgets(place)).toEqual([]);
  });

  it.each(['payer', 'member'] as const)(
    'a budget of a member is removed and a charge booked: both lock the accounts in one order, here the %s first',
    async (lower) => {
      // A removal that locked the payer first and then a member with a lower id, or the other way round, would deadlock with a booking
      // that holds the other one. So while the removal waits for the lower account, it must not hold the higher one.
      let place = await shared();
      let ben = await join(place, 'member');
      while (ben.accountId < place.owner.accountId !== (lower === 'member')) {
        place = await shared();
        ben = await join(place, 'member');
      }
      const { id } = await ownBudget(place, ben);
      const [first, second] = [place.owner.accountId, ben.accountId].toSorted();
      let free: number | null = 0;
      await whileHeld(
        pool,
        {
          rows: 'select 1 from accounts where id = $1 for update',
          values: [first],
          waiting: 'select wallet_id, balance_nusd, version from accounts',
          meanwhile: async (client) => {
            const lock = 'select 1 from accounts where id = $1 for update skip locked';
            free = (await client.query(lock, [second])).rowCount;
          },
        },
        [() => removeBudget(pool, as(place.owner, place), id, now)],
      );
      expect(free).toBe(1);
    },
  );

  it('a budget of a member is removed and requests admitted: the default one limits them from the same moment on', async () => {
    // Removed, read by the projector, and given the default one only then: requests would have no limit meanwhile, or until the next
    // attempt if the process stops in between. So the removal alone must leave the default budget.
    const place = await shared();
    const ben = await join(place, 'member');
    const { id } = await ownBudget(place, ben);
    expect(await removeBudget(pool, as(place.owner, place), id, now)).toBeUndefined();
    expect(await memberBudgets(place)).toEqual([[ben.accountId, 20, true]]);
  });
});
