import { randomBytes, randomUUID } from 'node:crypto';
import {
  type AccountRef,
  createMemoryState,
  MemoryStore,
  sealAccountRef,
  signSettlement,
  type ToldSettlement,
} from '@sotto/state';
import { until } from '@sotto/test-servers';
import fc from 'fast-check';
import pg from 'pg';
import { expect, it } from 'vitest';
import { auditLedger } from '../money-audit/audit-ledger.ts';
import { dismissRejected } from '../operator/rejected-settlements.ts';
import { Settler } from '../settler/settler.ts';
import { makeOwners, openTestDatabase, settledChat } from '../testing/test-database.integration.ts';
import { type BookingResult, bookSettlements } from './book-settlements.ts';
import { creditAccount } from './post-transaction.ts';
import type { AttributedSettlement } from './record-usage.ts';
import { postgresSettlementLedger } from './settlement-ledger.ts';

const { pool } = await openTestDatabase();

const makeOwner = async (): Promise<AccountRef> => (await makeOwners(pool, 1))[0];

/** One operation on the ledger. Operations with the same `id` are repetitions of the same one. */
type Act =
  | { readonly what: 'credit'; readonly owner: number; readonly id: number; readonly nusd: bigint }
  | { readonly what: 'book'; readonly settlements: readonly Booked[]; readonly dies: boolean };
interface Booked {
  readonly id: number;
  readonly owner: number;
  readonly nusd: bigint;
}

const ownerCount = 3;
/** The id determines all other values of a settlement and of a credit, so that repetitions are equal. */
const amountOf = (id: number): bigint => BigInt((id * 7919) % 400);
const settlement: fc.Arbitrary<Booked> = fc.nat(60).map((id) => ({
  id,
  // One in ten has no known owner.
  owner: id % 10 === 9 ? -1 : id % ownerCount,
  nusd: amountOf(id),
}));
const act: fc.Arbitrary<Act> = fc.oneof(
  fc
    .nat(30)
    .map((id): Act => ({ what: 'credit', owner: id % ownerCount, id, nusd: BigInt(1 + ((id * 104729) % 900)) })),
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('book'),
      settlements: fc.array(settlement, { minLength: 1, maxLength: 12 }),
      dies: fc.constantFrom(false, false, false, true),
    }),
  },
);

function settlementOf(run: string, { id, nusd }: Booked): ToldSettlement {
  const kind = nusd > 0n ? 'charge' : 'release';
  return { ...settledChat, id: `${run}-${id}`, kind, chargeNusd: nusd.toString(), at: 0, month: '1970-01' };
}

// Possible faults: two settlers book the same charge at once; one dies after its writes and before its commit; a top-up
// comes in between, or twice. All operations of a round run at the same time.
it('the ledger adds up after any interleaving of top-ups and charges, repeated, at once and cut short', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(act, { minLength: 1, maxLength: 5 }), { maxLength: 6 }), async (rounds) => {
      const run = randomUUID();
      const owners = await Promise.all(Array.from({ length: ownerCount }, makeOwner));
      const credited = new Map<number, Act & { what: 'credit' }>();
      const charged = new Map<number, Booked>();
      const carryOut = async (each: Act): Promise<void> => {
        if (each.what === 'credit') {
          const accountId = owners[each.owner]?.accountId ?? '';
          await creditAccount(pool, {
            accountId,
            amountNusd: each.nusd,
            kind: 'top_up',
            reference: `${run}:${each.id}`,
          });
          credited.set(each.id, each);
          return;
        }
        const batch: AttributedSettlement[] = each.settlements.map((booked) => ({
          settlement: settlementOf(run, booked),
          owner: owners[booked.owner],
        }));
        if (each.dies) return bookAndDie(batch);
        await bookSettlements(pool, batch);
        for (const booked of each.settlements) charged.set(booked.id, booked);
      };
      for (const round of rounds) await Promise.all(round.map(carryOut));

      expect(await auditLedger(pool)).toEqual([]);
      const shortfall = new Map<number, bigint>();
      for (const [index, owner] of owners.entries()) {
        const topUps = sum([...credited.values()].filter((each) => each.owner === index).map(({ nusd }) => nusd));
        const charges = sum([...charged.values()].filter((each) => each.owner === index).map(({ nusd }) => nusd));
        const { rows } = await pool.query<{ balance: string }>(
          'select balance_nusd as balance from accounts where id = $1',
          [owner.accountId],
        );
        const balance = BigInt(rows[0]?.balance ?? '-1');
        expect(balance).toBeGreaterThanOrEqual(0n);
        shortfall.set(index, balance - (topUps - charges));
        expect(shortfall.get(index)).toBeGreaterThanOrEqual(0n);
      }
      const entries = await pool.query<{ account: string; nusd: string }>(
        `select e.ledger_account as account, sum(e.amount_nusd) as nusd from ledger_entries e
         join ledger_transactions t on t.id = e.transaction_id where t.reference like $1 group by 1`,
        [`settlement:${run}-%`],
      );
      const booked = new Map(entries.rows.map(({ account, nusd }) => [account, BigInt(nusd)]));
      expect(booked.get('revenue') ?? 0n).toBe(sum([...charged.values()].map(({ nusd }) => nusd)));
      expect(-(booked.get('shortfall') ?? 0n)).toBe(sum([...shortfall.values()]));
      const nobodys = sum([...charged.values()].filter(({ owner }) => owner < 0).map(({ nusd }) => nusd));
      expect(-(booked.get('suspense') ?? 0n)).toBe(nobodys);
    }),
    { numRuns: 60 },
  );
});

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);

/** A settler whose connection ends before its commit, so that its writes are lost. */
async function bookAndDie(batch: readonly AttributedSettlement[]): Promise<void> {
  const dying = {
    connect: async () => {
      const client = await pool.connect();
      return {
        query: (text: string, values?: unknown[]) => {
          if (text === 'commit') throw new Error('killed');
          return client.query(text, values);
        },
        release: () => client.release(),
      };
    },
  };
  await expect(bookSettlements(dying as unknown as typeof pool, batch)).rejects.toThrow('killed');
}

/** Charges of abandoned requests, in one hour. */
const givenUp = (run: string, count: number, nusd: bigint, owner: AccountRef): AttributedSettlement[] =>
  Array.from({ length: count }, (_, id) => ({
    owner,
    settlement: { ...settlementOf(run, { id, nusd, owner: 0 }), waivable: true, status: 'cancelled', at: 3_600_000 },
  }));
const waivedOf = (results: readonly BookingResult[]): bigint => sum(results.map(({ waivedNusd }) => waivedNusd));

// Possible faults: several settlers book the same requests at once, and each finds the allowance unused. One dies
// before its commit. The same request comes again when the allowance is used up.
it('waives charges up to the allowance of their account, once, even if several settlers book them repeatedly', async () => {
  const [owner] = await Promise.all([makeOwner()]);
  await creditAccount(pool, {
    accountId: owner.accountId,
    amountNusd: 10n ** 12n,
    kind: 'top_up',
    reference: randomUUID(),
  });
  const each = 30_000_000n;
  const all = givenUp(randomUUID(), 20, each, owner);
  const free = 4n;
  await bookAndDie(all);
  const results = await Promise.all(
    [all, all.slice(0, 10), all.slice(10), all].map((batch) => bookSettlements(pool, batch)),
  );
  expect(waivedOf(results)).toBe(each * free);
  expect(waivedOf([await bookSettlements(pool, all)])).toBe(0n);
  const { rows } = await pool.query<{ cost: string }>('select cost_nusd as cost from usage where key_id = $1', [
    owner.keyId,
  ]);
  expect(rows.map(({ cost }) => BigInt(cost)).sort()).toEqual([0n, 0n, 0n, 0n, ...Array(16).fill(each)]);
  // The next hour has an allowance of its own.
  const later = givenUp(randomUUID(), 1, each, owner).map((entry) => ({
    ...entry,
    settlement: { ...entry.settlement, at: 2 * 3_600_000 },
  }));
  expect(waivedOf([await bookSettlements(pool, later)])).toBe(each);
  expect(await auditLedger(pool)).toEqual([]);
});

// Possible fault: an account has any number of keys, and each finds an allowance of its own.
it('waives by account: its keys share one allowance, in one batch and in several at once', async () => {
  const [owner, ...others] = await makeOwners(pool, 12);
  const { accountId } = owner;
  await creditAccount(pool, { accountId, amountNusd: 10n ** 12n, kind: 'top_up', reference: randomUUID() });
  const each = 4_000_000_000n;
  const [first = [], ...batches] = [owner, ...others].map((key) => givenUp(randomUUID(), 1, each, key));
  const together = [first, ...batches.slice(0, 5)].flat();
  const results = await Promise.all([together, ...batches.slice(5)].map((batch) => bookSettlements(pool, batch)));
  expect(waivedOf(results)).toBe(each);
  const { rows } = await pool.query('select balance_nusd from accounts where id = $1', [accountId]);
  expect(rows).toEqual([{ balance_nusd: String(10n ** 12n - 11n * each) }]);
  expect(await auditLedger(pool)).toEqual([]);
});

// The statements after the one that fails were sent already. Each fails because of it, and not because of the settlement.
it('a booking that one of several statements sent together refuses is known as unbookable', async () => {
  const owner = await makeOwner();
  await creditAccount(pool, { ...owner, amountNusd: 1000n, kind: 'top_up', reference: randomUUID() });
  await pool.query('update api_keys set spent_nusd = $2 where id = $1', [owner.keyId, 2n ** 63n - 1n]);
  const batch = [{ owner, settlement: settlementOf(randomUUID(), { id: 1, owner: 0, nusd: 5n }) }];
  const error = await bookSettlements(pool, batch).catch((thrown: unknown) => thrown);
  expect(postgresSettlementLedger(pool).isRefusal(error)).toBe(true);
  await pool.query('update api_keys set spent_nusd = 0 where id = $1', [owner.keyId]);
  expect((await bookSettlements(pool, batch)).booked).toBe(1);
});

// Possible fault: an account that another transaction holds stops the bookings of all accounts, or its charge is set aside.
it('tells an account that is held up from a settlement that cannot be booked', async () => {
  const owner = await makeOwner();
  await creditAccount(pool, { ...owner, amountNusd: 1000n, kind: 'top_up', reference: randomUUID() });
  const batch = [{ owner, settlement: settlementOf(randomUUID(), { id: 1, owner: 0, nusd: 5n }) }];
  const hasty = new pg.Pool({ ...pool.options, statement_timeout: 200 });
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query('select from accounts where id = $1 for update', [owner.accountId]);
  const error = await bookSettlements(hasty, batch).catch((thrown: unknown) => thrown);
  const { isHeldUp, isRefusal } = postgresSettlementLedger(pool);
  expect([isHeldUp(error), isRefusal(error)]).toEqual([true, false]);
  await holder.query('rollback');
  holder.release();
  expect((await bookSettlements(hasty, batch)).booked).toBe(1);
  await hasty.end();
});

/** A settler whose key for settlements is one of these. */
function settlerWith(settlementMacKey: readonly [Buffer, ...Buffer[]], accountRefKey: Buffer) {
  const told: unknown[] = [];
  const settler = new Settler({
    ledger: postgresSettlementLedger(pool),
    state: {
      ...createMemoryState({ store: new MemoryStore(Date.now) }),
      book: async (booked) => void told.push(booked),
      forget: async () => {},
    },
    settlementMacKey,
    accountRefKey: [accountRefKey],
    events: { shortfall: () => {}, used: () => {}, waived: () => {}, booked: () => {}, settlementRejected: () => {} },
  });
  return { settler, told };
}

/** A charge of 300 nano-USD, as its broker wrote it, for an account with 1000. */
async function signedCharge(macKey: Buffer) {
  const owner = await makeOwner();
  await creditAccount(pool, { accountId: owner.accountId, amountNusd: 1000n, kind: 'top_up', reference: randomUUID() });
  const accountRefKey = randomBytes(32);
  const settlement = {
    ...settlementOf(randomUUID(), { id: 1, nusd: 300n, owner: 0 }),
    accountRef: sealAccountRef(accountRefKey, owner),
  };
  const balance = async (): Promise<unknown> => {
    const { rows } = await pool.query('select balance_nusd::int as balance from accounts where id = $1', [
      owner.accountId,
    ]);
    return rows[0]?.balance;
  };
  return { settlement, entry: { streamId: '1-1', ...signSettlement(macKey, settlement) }, accountRefKey, balance };
}

it.each([
  ['unbookable', 'an older version did not know its form'],
  ['bad_mac', 'its key was replaced too early'],
] as const)(
  'books a settlement that was set aside as %s because %s, once, and the audit is clean again',
  async (reason, _) => {
    const [macKey, otherKey] = [randomBytes(32), randomBytes(32)];
    const { settlement, entry, accountRefKey, balance } = await signedCharge(macKey);
    const ledger = postgresSettlementLedger(pool);
    // More than are read at once.
    await pool.query(
      `insert into rejected_settlements (id, shard, stream_id, reason, payload, mac)
     select gen_random_uuid(), 3, n || '-1', 'unbookable', 'unreadable', '' from generate_series(2, 502) n`,
    );
    await ledger.setAside(3, entry, reason);
    // The settler reads it again, because another settlement of its batch could not be booked yet.
    await ledger.setAside(3, entry, reason);
    expect(await auditLedger(pool)).toHaveLength(502);
    await settlerWith([otherKey], accountRefKey).settler.rebook();
    expect(await balance()).toBe(1000);

    const { settler, told } = settlerWith([otherKey, macKey], accountRefKey);
    await Promise.all([settler.rebook(), settler.rebook()]);
    await settler.rebook();
    expect(await balance()).toBe(700);
    expect(told).toContainEqual({
      wallet: expect.objectContaining({ shard: 3, balanceNusd: 700n }),
      keys: [expect.anything()],
      budgets: [],
      holdIds: [settlement.id],
    });
    const left = await auditLedger(pool);
    expect([left.length, new Set(left.map(({ found }) => found))]).toEqual([501, new Set(['unbookable'])]);
    await pool.query('delete from rejected_settlements');
  },
);

// Interleaving: the settler has read the row and books its charge, when the operator dismisses it. If both succeeded, an account
// would pay a charge of which the operator was told that no account pays it.
it('books no settlement that is dismissed, and dismisses none that is booked', async () => {
  const macKey = randomBytes(32);
  const { entry, accountRefKey, balance } = await signedCharge(macKey);
  const ledger = postgresSettlementLedger(pool);
  await ledger.setAside(3, entry, 'unbookable');
  const [row] = await ledger.setAsideAfter(undefined);
  const { id = '' } = row ?? {};
  const dismiss = () => dismissRejected(pool, { id, why: 'a test', actor: { kind: 'command_line' } });
  let dismissing: Promise<boolean> | undefined;
  await ledger.rebook(id, async () => {
    dismissing = dismiss();
    await until(async () => {
      const waiting = await pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.rowCount === 1;
    }, 'the dismissal waits');
  });
  expect(await dismissing).toBe(false);
  await pool.query('update rejected_settlements set resolved_at = null, resolution = null where id = $1', [id]);
  expect(await dismiss()).toBe(true);
  await settlerWith([macKey], accountRefKey).settler.rebook();
  expect(await balance()).toBe(1000);
  await pool.query('delete from rejected_settlements');
});
