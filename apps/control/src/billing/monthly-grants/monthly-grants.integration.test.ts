import { randomUUID } from 'node:crypto';
import { type State, shards } from '@sotto/state';
import { until } from '@sotto/test-servers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../database/in-transaction.ts';
import { debitWithin, ledgerAccounts } from '../../ledger/post-transaction.ts';
import { auditLedger } from '../../money-audit/audit-ledger.ts';
import { disableAccount, enableAccount } from '../../operator/account-store.ts';
import { readMonthlyGrant, setMonthlyGrant } from './account-grant.ts';
import { findExpiring } from './expire-grants.ts';
import { clock, drivers, months, pool, startOf, timeOf, World } from './grant-world.integration.ts';
import { findDue } from './monthly-grants.ts';

const commandLine = { kind: 'command_line' } as const;

describe.each(drivers)('monthly grants with the state in $name', ({ open, runs }) => {
  let state: State;
  beforeAll(async () => {
    state = open();
    const reached = () =>
      state.isOpen().then(
        () => true,
        () => false,
      );
    await until(reached, 'the state is reachable');
    for (const shard of shards) {
      await state.beginEpoch(shard, 1);
      // The first attempt learns of the epoch.
      const join = () => state.join(shard, { declaration: undefined, leaseMs: 1e12 });
      await join().catch(join);
      await state.openEpoch(shard);
    }
  });
  afterAll(() => state?.close());
  const openWorld = (): Promise<World> => World.open(state);
  const expectSound = async (): Promise<void> => expect(await auditLedger(pool)).toEqual([]);

  it('are given once a month, whichever process is first, and fund requests at once', async () => {
    const world = await openWorld();
    expect(await world.hold(1n)).toBeUndefined();
    await Promise.all([world.give(100n), world.give(100n), world.give(100n)]);
    expect(await world.grants()).toEqual([['2026-10', 100, 0, 0]]);
    expect(await world.hold(101n)).toBeUndefined();
    expect(await world.hold(100n)).toBeDefined();
    await expectSound();
  });

  it('grow at once by a higher amount, shrink from the next month, and stop for a disabled account', async () => {
    const world = await openWorld();
    const { accountId } = world.owner;
    const set = (amountNusd: bigint | undefined) =>
      setMonthlyGrant(pool, { accountId, amountNusd, actor: commandLine });
    const isDue = async () =>
      (await findDue(pool, { month: world.month, defaultNusd: 100n, needsVerified: true })).includes(accountId);
    expect(await isDue()).toBe(true);
    await world.give(100n);
    await set(150n);
    expect(await isDue()).toBe(true);
    await world.give(100n);
    await set(30n);
    expect(await isDue()).toBe(false);
    await world.give(100n);
    expect(await world.grants()).toEqual([['2026-10', 150, 0, 0]]);
    const now = () => clock.now;
    expect(await readMonthlyGrant({ pool, monthlyGrantNusd: 100n, now }, accountId)).toMatchObject({
      ...{ month: '2026-10', amount: 150e-9, next_amount: 30e-9, renews_at: '2026-11-01T00:00:00.000Z' },
    });
    clock.now = timeOf('2026-11');
    await world.give(100n);
    await disableAccount(pool, { accountId, actor: commandLine });
    clock.now = timeOf('2026-12');
    expect(await isDue()).toBe(false);
    await world.give(100n);
    await enableAccount(pool, { accountId, actor: commandLine });
    await set(undefined);
    clock.now = timeOf('2027-01');
    await world.give(100n);
    expect(await world.grants()).toEqual([
      ['2026-10', 150, 0, 0],
      ['2026-11', 30, 0, 0],
      ['2027-01', 100, 0, 0],
    ]);
    await expectSound();
  });

  it('expire with their month, but spare what is held or unbooked until it is booked', async () => {
    const world = await openWorld();
    await world.give(100n);
    const running = await world.hold(30n);
    const unbooked = await world.hold(20n);
    await world.settle(unbooked, 15n);
    expect(await findExpiring(pool, world.month)).not.toContain(world.owner.accountId);
    clock.now = startOf('2026-11');
    await world.give(100n);
    await Promise.all([world.expire(), world.expire()]);
    await world.project();
    expect(await world.grants()).toContainEqual(['2026-10', 100, 0, 55]);
    expect(await world.balance()).toBe(145n);
    // The whole new grant can be spent.
    const next = await world.hold(100n);
    expect(next).toBeDefined();
    await world.state.cancel(world.shard, next ?? '');
    expect(await findExpiring(pool, world.month)).toContain(world.owner.accountId);
    await world.book();
    await world.settle(running, 25n);
    await world.book();
    await world.expire();
    expect(await world.grants()).toEqual([
      ['2026-10', 100, 40, 60],
      ['2026-11', 100, 0, 0],
    ]);
    expect(await world.balance()).toBe(100n);
    expect(await findExpiring(pool, world.month)).not.toContain(world.owner.accountId);
    await expectSound();
  });

  it('are audited', async () => {
    const world = await openWorld();
    await world.give(100n);
    const change = (sql: string) =>
      pool.query(`update monthly_grants set ${sql} where account_id = $1`, [world.owner.accountId]);
    await change('expired_nusd = 1');
    expect(await auditLedger(pool)).toMatchObject([{ id: 'grants' }]);
    await expect(change('expired_nusd = 101')).rejects.toThrow('monthly_grants_parts');
    await change('expired_nusd = 0, amount_nusd = 101');
    const id = `${world.owner.accountId} 2026-10`;
    expect(await auditLedger(pool)).toMatchObject([{ id, expected: '101', found: '100' }, { id: 'grants' }]);
    await change('amount_nusd = 100');
    await expectSound();
  });

  it('leave money that was paid in alone', async () => {
    const world = await openWorld();
    await world.give(100n);
    await world.credit(1000n);
    await world.project();
    const holdId = await world.hold(400n);
    await world.settle(holdId, 400n);
    await world.book();
    clock.now = timeOf('2026-11');
    await world.give(100n);
    expect(await world.expire()).toBe(false);
    expect(await world.balance()).toBe(800n);
    await expectSound();
  });

  it('expire as far as the balance goes, if a refund took a part of it', async () => {
    const world = await openWorld();
    await world.give(100n);
    const { accountId } = world.owner;
    const refund = { accountId, amountNusd: 40n, kind: 'refund', reference: randomUUID() } as const;
    await inTransaction(pool, (client) => debitWithin(client, { ...refund, to: ledgerAccounts.funding }));
    await world.project();
    clock.now = timeOf('2026-11');
    await world.expire();
    expect(await world.grants()).toEqual([['2026-10', 100, 40, 60]]);
    expect(await world.balance()).toBe(0n);
    await expectSound();
  });

  it('cover a hold that is placed between reading what is held and lowering the balance', async () => {
    const world = await openWorld();
    await world.give(100n);
    clock.now = timeOf('2026-11');
    await world.give(100n);
    let holdId: string | undefined;
    await world.expire(async () => {
      holdId = await world.hold(170n);
    });
    expect(await world.balance()).toBe(100n);
    await world.project();
    // The state admits nothing more: 170 of 100 are held.
    expect(await world.hold(1n)).toBeUndefined();
    await world.settle(holdId, 170n);
    await world.book();
    expect(await world.payers(holdId)).toEqual({ revenue: 170, wallet: -100, grants: -70 });
    expect(await world.grants()).toEqual([
      ['2026-10', 100, 70, 30],
      ['2026-11', 100, 100, 0],
    ]);
    expect(world.shortfalls).toEqual([]);
    await expectSound();
  });

  it('take a late charge of a past month from what has expired, and not from the new grant', async () => {
    const world = await openWorld();
    await world.give(100n);
    const holdId = await world.hold(80n);
    // Its broker is taken for dead, so its hold is released.
    await world.state.cancel(world.shard, holdId ?? '');
    clock.now = timeOf('2026-11');
    await world.give(100n);
    await world.expire();
    await world.project();
    expect(await world.grants()).toContainEqual(['2026-10', 100, 0, 100]);
    await world.settle(holdId, 60n);
    await world.book();
    await world.book();
    expect(await world.payers(holdId)).toEqual({ revenue: 60, grants: -60 });
    expect(await world.grants()).toEqual([
      ['2026-10', 100, 60, 40],
      ['2026-11', 100, 0, 0],
    ]);
    expect(await world.balance()).toBe(100n);
    await expectSound();
  });

  type Step =
    | { readonly what: 'hold' | 'expire' | 'credit'; readonly nusd: bigint }
    | { readonly what: 'settle'; readonly part: number; readonly isLost: boolean }
    | { readonly what: 'give' | 'book' | 'project' | 'month' };
  const amount = fc.bigInt(1n, 160n);
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ what: fc.constant('hold' as const), nusd: amount }) },
    {
      weight: 4,
      arbitrary: fc.record({ what: fc.constant('settle' as const), part: fc.nat(100), isLost: fc.boolean() }),
    },
    { weight: 3, arbitrary: fc.record({ what: fc.constant('expire' as const), nusd: fc.bigInt(0n, 160n) }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('credit' as const), nusd: amount }) },
    {
      weight: 6,
      arbitrary: fc.constantFrom<Step>(...(['give', 'book', 'project', 'month'] as const).map((what) => ({ what }))),
    },
  );

  // A grant expires months late, because the service was off, and a request is admitted in the middle of its expiry. Its charge must
  // still find what expired, or it would be a loss.
  const late: Step[] = [
    { what: 'give' },
    ...[1, 2, 3].map((): Step => ({ what: 'month' })),
    { what: 'expire', nusd: 2n },
  ];

  it('add up after grants, holds, charges and expiries in any order', async () => {
    const run = async (steps: readonly Step[]): Promise<void> => {
      const world = await openWorld();
      let credited = 0n;
      let charged = 0n;
      let hasLost = false;
      const acts = {
        hold: async (nusd: bigint) => void (await world.hold(nusd)),
        // A request may be admitted in the middle of an expiry.
        expire: (nusd: bigint) => world.expire(() => (nusd === 0n ? Promise.resolve() : world.hold(nusd))),
        credit: async (nusd: bigint) => {
          credited += nusd;
          await world.credit(nusd);
        },
        settle: async (part: number, isLost: boolean) => {
          const [found] = world.holds;
          if (found === undefined) return;
          const [holdId, { amountNusd }] = found;
          const nusd = (amountNusd * BigInt(part)) / 100n;
          if (isLost) await world.state.cancel(world.shard, holdId);
          hasLost ||= isLost;
          charged += nusd;
          await world.settle(holdId, nusd);
        },
        give: () => world.give(100n),
        book: world.book,
        project: world.project,
        month: async () => {
          const next = months[months.indexOf(world.month as (typeof months)[number]) + 1];
          if (next !== undefined) clock.now = startOf(next);
        },
      };
      const take = (each: Step): Promise<unknown> =>
        'nusd' in each
          ? acts[each.what](each.nusd)
          : each.what === 'settle'
            ? acts.settle(each.part, each.isLost)
            : acts[each.what]();
      for (const each of steps) await take(each);
      while (world.holds.size > 0) await acts.settle(50, false);
      await world.book();
      await world.project();
      clock.now = timeOf(world.month);
      await world.expire();
      await world.project();

      const grants = await world.grants();
      const given = grants.reduce((sum, [, nusd]) => sum + BigInt(nusd), 0n);
      const expired = grants.reduce((sum, [, , , nusd]) => sum + BigInt(nusd), 0n);
      const shortfall = world.shortfalls.reduce((sum, nusd) => sum + nusd, 0n);
      expect(await world.balance()).toBe(credited + given - expired - charged + shortfall);
      // Money that is held twice, because its first hold was lost, can be missing. An expiry never makes any missing.
      if (!hasLost) expect(shortfall).toBe(0n);
      for (const [month, nusd, spent, gone] of grants) if (month < world.month) expect(spent + gone).toBe(nusd);
      await expectSound();
      const wallet = await state.readWallet(world.shard, world.walletId);
      expect(wallet).toMatchObject({ fundsNusd: await world.balance(), heldNusd: 0n, unbookedNusd: 0n });
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 30 }), run), { numRuns: runs, examples: [[late]] });
  });
});
