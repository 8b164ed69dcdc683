import { randomUUID } from 'node:crypto';
import type { AccountRef, ToldSettlement } from '@sotto/state';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { bookSettlements } from '../ledger/book-settlements.ts';
import type { AttributedSettlement } from '../ledger/record-usage.ts';
import { makeOwners, openTestDatabase } from '../testing/test-database.integration.ts';

// Not UTC, because days must be UTC under any time zone of the server.
const { pool } = await openTestDatabase({ timezone: 'Pacific/Auckland' });
let owners: AccountRef[];

beforeAll(async () => {
  owners = (await Promise.all([1, 2, 3].map(() => makeOwners(pool, 2)))).flat();
});

/** Returns the differences between a rollup and a recomputation from `usage`, in both directions. */
async function differences(table: string, dimensions: string): Promise<unknown[]> {
  const kept = `select account_id, day, ${dimensions}, requests, failed, cancelled, estimated, prompt_tokens,
    cached_tokens, completion_tokens, reasoning_tokens, cost_nusd from ${table}`;
  const counted = `select account_id, (at at time zone 'UTC')::date, ${dimensions}, count(*),
    ${["(status = 'failed')::int", "(status = 'cancelled')::int", 'estimated::int', ...['prompt', 'cached', 'completion', 'reasoning'].map((kind) => `${kind}_tokens`)].map((sum) => `coalesce(sum(${sum}), 0)`).join(', ')},
    sum(cost_nusd) from usage group by account_id, (at at time zone 'UTC')::date, ${dimensions}`;
  // `all`: a duplicate row is a difference, too.
  const { rows } = await pool.query(
    `(${kept} except all ${counted}) union all (${counted} except all (${kept})) limit 5`,
  );
  return rows;
}

async function expectSumsOfUsage(): Promise<void> {
  const routes = 'operation, model, provider, privacy_class';
  expect(await differences('usage_daily', `workspace_id, key_id, ${routes}`)).toEqual([]);
  expect(await differences('usage_daily_routes', `workspace_id, ${routes}`)).toEqual([]);
  expect(await differences('usage_daily_keys', 'workspace_id, key_id')).toEqual([]);
}

const midnight = Date.UTC(2026, 10, 21);
const tokens = fc.nat(100_000);

const settlement: fc.Arbitrary<Omit<ToldSettlement, 'id' | 'kind'>> = fc.record({
  v: fc.constant(1 as const),
  accountRef: fc.constant(''),
  chargeNusd: fc.bigInt(0n, 9_000_000n).map(String),
  // Around midnight UTC, by the minute.
  at: fc.integer({ min: -3, max: 3 }).map((minutes) => midnight + minutes * 60_000),
  operation: fc.constantFrom('chat', 'embeddings'),
  model: fc.constantFrom('m/one', 'm/two', 'm/"three", =3'),
  provider: fc.constantFrom('acme', 'acme/eu', null),
  privacyClass: fc.constantFrom('private', 'tee', null),
  promptTokens: tokens,
  cachedTokens: tokens,
  completionTokens: tokens,
  reasoningTokens: tokens,
  attempts: fc.nat(3),
  fallback: fc.boolean(),
  status: fc.constantFrom('completed', 'cancelled', 'failed'),
  estimated: fc.boolean(),
  month: fc.constantFrom('2026-10', '2026-11'),
  firstToken: fc.option(fc.nat(7), { nil: undefined }),
  failedAttempts: fc.constantFrom(undefined, [], [{ provider: 'acme', error: 'timeout' as const }]),
});

const firstTokens = new Map<string, number>();

/** Adds what booked settlements say of the time to their first token to what the counts must be. */
function expectFirstTokens(booked: Iterable<AttributedSettlement>): void {
  for (const { settlement, owner } of booked) {
    if (owner === undefined || settlement.v === 2 || settlement.firstToken === undefined) continue;
    const day = new Date(settlement.at).toISOString().slice(0, 10);
    const place = [owner.accountId, day, owner.workspaceId, settlement.firstToken].join(' ');
    firstTokens.set(place, (firstTokens.get(place) ?? 0) + 1);
  }
}

async function countedFirstTokens(): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ place: string; answers: string }>(
    `select concat_ws(' ', account_id, to_char(day, 'YYYY-MM-DD'), workspace_id, class) as place, answers
     from usage_daily_first_token`,
  );
  return new Map(rows.map(({ place, answers }) => [place, Number(answers)]));
}

/** Settlements, and the batches in which several settlers book them, some repeatedly. */
const history = fc.array(fc.tuple(settlement, fc.nat(100)), { minLength: 1, maxLength: 60 }).chain((drawn) =>
  fc.record({
    drawn: fc.constant(drawn),
    batches: fc.array(fc.array(fc.nat(drawn.length - 1), { minLength: 1, maxLength: 40 }), {
      minLength: 1,
      maxLength: 6,
    }),
  }),
);

describe('the daily sums', () => {
  it('equal a recomputation from usage, even if several settlers book the same settlements repeatedly and at once', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ drawn, batches }) => {
        const before = await usageCount();
        const settlements = drawn.map(([content, number]): AttributedSettlement => {
          const owner = number < 5 ? undefined : owners[number % owners.length];
          const { accountRef, chargeNusd, at, month } = content;
          const told = number % 3 > 0 ? content : ({ v: 2, accountRef, chargeNusd, at, month } as const);
          return { settlement: { ...told, id: randomUUID(), kind: 'charge' }, owner };
        });
        const all = batches.map((batch) => batch.flatMap((index) => settlements[index] ?? []));
        await Promise.all(all.map((batch) => bookSettlements(pool, batch)));
        await bookSettlements(pool, all.flat());
        expectFirstTokens(new Set(all.flat()));
        expect(await countedFirstTokens()).toEqual(firstTokens);
        await expectSumsOfUsage();
        const attributed = new Set(all.flat().filter(({ owner }) => owner !== undefined));
        expect(await usageCount()).toBe(before + attributed.size);
      }),
      { numRuns: 30 },
    );
  });

  // Without one order of the inserts, each of the two waits for a row of the other, and Postgres ends one of them.
  it('are booked by two settlers that read the same charges without an owner in opposite orders', async () => {
    const [content] = fc.sample(settlement, 1);
    if (content === undefined) throw new Error('nothing to book');
    const batch = Array.from(
      { length: 2000 },
      (): AttributedSettlement => ({
        settlement: { ...content, id: randomUUID(), kind: 'charge' },
        owner: undefined,
      }),
    );
    await Promise.all([bookSettlements(pool, batch), bookSettlements(pool, batch.toReversed())]);
    const ids = batch.map(({ settlement: { id } }) => id);
    const { rows } = await pool.query('select count(*)::int as booked from settlements where id = any($1::text[])', [
      ids,
    ]);
    expect(rows).toEqual([{ booked: ids.length }]);
  });

  it('do not change in a booking that is rolled back', async () => {
    const [owner] = owners;
    const [content] = fc.sample(settlement, 1);
    if (owner === undefined || content === undefined) throw new Error('nothing to book');
    const good = { settlement: { ...content, id: randomUUID(), kind: 'charge' as const }, owner };
    // Postgres rejects the text, and the whole batch with it.
    const bad = { settlement: { ...good.settlement, id: 'no text \u0000' }, owner };
    const before = await usageCount();
    await expect(bookSettlements(pool, [good, bad])).rejects.toThrow();
    expect(await usageCount()).toBe(before);
    await expectSumsOfUsage();
    await bookSettlements(pool, [good]);
    expect(await usageCount()).toBe(before + 1);
    await expectSumsOfUsage();
  });
});

async function usageCount(): Promise<number> {
  const { rows } = await pool.query<{ count: string }>('select count(*) from usage');
  return Number(rows[0]?.count);
}
