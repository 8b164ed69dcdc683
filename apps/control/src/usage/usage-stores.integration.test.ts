import { randomUUID } from 'node:crypto';
import { type UsageQuery, usageGroups } from '@sotto/contract/control/usage';
import { type AccountRef, monthOf, type ToldSettlement } from '@sotto/state';
import { usageStatuses } from '@sotto/wire';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../accounts/ensure-account.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { recordUsage } from '../ledger/record-usage.ts';
import { explained } from '../testing/explained.integration.ts';
import { done, endOf } from '../testing/outcomes.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { type DailyQuestion, exportDaily, readDaily } from './daily-store.ts';
import { exportUsage, readUsage } from './usage-store.ts';

const { pool } = await openTestDatabase();
const dayMs = 86_400_000;
const firstDay = Date.UTC(2026, 0, 1);
const workspaces = [randomUUID(), randomUUID()];
/** Each key belongs to one workspace. */
const keys: readonly string[] = Array.from({ length: 5 }, () => randomUUID());
const models = ['m/one', 'm/two', 'm/three'];

let made = 0;
/** The usage of one request: deterministic, and different from its neighbours’. */
type Used = ToldSettlement & AccountRef;

function used(accountId: string, at: number, more: Partial<Used> = {}): Used {
  made += 1;
  const key = made % keys.length;
  return {
    v: 1,
    id: randomUUID(),
    kind: 'charge',
    accountRef: '',
    accountId,
    workspaceId: workspaces[key % 2] ?? '',
    keyId: keys[key] ?? '',
    chargeNusd: String(made * 1001),
    at,
    operation: made % 7 === 0 ? 'embeddings' : 'chat',
    model: models[made % models.length] ?? '',
    provider: made % 11 === 0 ? null : 'acme',
    privacyClass: made % 11 === 0 ? null : 'private',
    promptTokens: made,
    cachedTokens: 1,
    completionTokens: made * 2,
    reasoningTokens: 3,
    attempts: 1,
    fallback: false,
    status: made % 11 === 0 ? 'failed' : 'completed',
    estimated: made % 13 === 0,
    month: monthOf(at),
    ...more,
  };
}

const record = (rows: readonly Used[]): Promise<void> => inTransaction(pool, (client) => recordUsage(client, rows));

const newAccount = async (): Promise<string> => (await createAccount(pool, { userId: undefined, name: 'x' })).accountId;

const query = (more: Partial<UsageQuery> = {}): UsageQuery => ({ limit: 100, ...more });

async function walk(accountId: string, more: Partial<UsageQuery>): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await readUsage(pool, { accountId }, query({ ...more, cursor }));
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  return ids;
}

async function all<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const rows: T[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}

describe('pages of usage', () => {
  it('return each row that existed at the start once, even if rows are booked in between', async () => {
    const account = await newAccount();
    // Many rows of one minute, so that pages end within it.
    await record(Array.from({ length: 40 }, (_, index) => used(account, firstDay + Math.floor(index / 13) * 60_000)));
    const before = (await walk(account, { limit: 500 })).sort();
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await readUsage(pool, { accountId: account }, query({ limit: 7, cursor }));
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
      // Rows that are booked late, of every minute: some before and some after the cursor.
      await record([0, 1, 2, 3].map((minute) => used(account, firstDay + minute * 60_000)));
      if (seen.length > 500) throw new Error('no end');
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => before.includes(id)).sort()).toEqual(before);
  });

  it('have exactly the rows that match each combination of filters, newest first', async () => {
    const account = await newAccount();
    const rows = Array.from({ length: 120 }, (_, index) => used(account, firstDay + (index % 50) * 60_000));
    await record(rows);
    await record([used(await newAccount(), firstDay)]);
    const optional = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
    const minute = fc.option(fc.integer({ min: -1, max: 51 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(
        optional(models),
        optional([...keys, randomUUID()]),
        optional(workspaces),
        fc.record({ status: optional(usageStatuses), provider: optional(['acme', 'none']) }),
        minute,
        minute,
        fc.integer({ min: 1, max: 60 }),
        async (model, key_id, workspace_id, { status, provider }, first, last, limit) => {
          const time = (minutes: number | undefined) =>
            minutes === undefined ? undefined : new Date(firstDay + minutes * 60_000);
          const [from, to] = [time(first), time(last)];
          const expected = rows.filter(
            (row) =>
              (model === undefined || row.model === model) &&
              (key_id === undefined || row.keyId === key_id) &&
              (workspace_id === undefined || row.workspaceId === workspace_id) &&
              (status === undefined || row.status === status) &&
              (provider === undefined || row.provider === provider) &&
              (from === undefined || row.at >= from.getTime()) &&
              (to === undefined || row.at < to.getTime()),
          );
          const filters = { model, key_id, workspace_id, status, provider, from, to };
          const exported = await all(exportUsage(pool, { accountId: account }, filters));
          expect(exported.map(({ prompt_tokens }) => prompt_tokens).sort()).toEqual(
            expected.map(({ promptTokens }) => promptTokens).sort(),
          );
          expect(exported.map(({ at }) => at)).toEqual(
            exported
              .map(({ at }) => at)
              .sort()
              .reverse(),
          );
          expect(await walk(account, { ...filters, limit })).toEqual(exported.map(({ id }) => id));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('use an index in the order of the answer, with any filters', async () => {
    const account = await newAccount();
    await record(Array.from({ length: 50 }, () => used(account, firstDay)));
    for (const filters of [
      {},
      { model: 'm/one' },
      { key_id: keys[0] },
      { workspace_id: workspaces[0] },
      { key_id: keys[0], model: 'm/one' },
      { workspace_id: workspaces[0], model: 'm/one' },
      { provider: 'acme' },
    ]) {
      const plan = await explained(pool, (database) =>
        readUsage(database, { accountId: account }, query({ ...filters, limit: 1 })),
      );
      expect(plan, JSON.stringify(filters)).toMatch(/Index Scan Backward using usage_/);
      expect(plan, JSON.stringify(filters)).not.toMatch(/-> +(?:Incremental )?Sort|Filter/);
    }
    // Failures are rare. Their indexes have no other rows.
    const ofFailures = /Index Scan Backward using usage_\w*account_id_at_id_idx1/;
    const ofClasses = /Index Scan Backward using usage_\w*account_id_error_at_id_idx/;
    for (const [filters, index] of [
      [{ status: 'failed' }, ofFailures],
      [{ error: 'cancelled' }, ofClasses],
      [{ error: 'timeout' }, ofClasses],
    ] as const) {
      const plan = await explained(pool, (database) =>
        readUsage(database, { accountId: account }, query({ ...filters, limit: 1 })),
      );
      expect(plan, JSON.stringify(filters)).toMatch(index);
    }
  });

  it('are exported completely, over many pages, with no connection held between them', async () => {
    const account = await newAccount();
    const rows = Array.from({ length: 5000 }, (_, index) => used(account, firstDay + Math.floor(index / 700) * 60_000));
    await record(rows);
    const ids = new Set<string>();
    let cost = 0n;
    for await (const page of exportUsage(pool, { accountId: account }, {})) {
      expect(pool.idleCount).toBe(pool.totalCount);
      for (const row of page) {
        ids.add(row.id);
        cost += BigInt(Math.round(Number(row.cost) * 1e9));
      }
    }
    expect(ids.size).toBe(5000);
    expect(cost).toBe(rows.reduce((sum, { chargeNusd }) => sum + BigInt(chargeNusd), 0n));
  });
});

describe('daily usage', () => {
  let account: string;
  let members: string[] = [];
  /** Of each key. */
  const tags = ['red', 'red', null, 'blue', null];
  const days = { from: firstDay / dayMs - 1, to: firstDay / dayMs + 70 };

  beforeAll(async () => {
    account = await newAccount();
    members = [account, await newAccount()];
    await record(Array.from({ length: 900 }, (_, index) => used(account, firstDay + (index % 65) * dayMs + 60_000)));
    await record([used(await newAccount(), firstDay)]);
    for (const workspace of workspaces)
      await pool.query("insert into workspaces (id, account_id, name, preferences) values ($1, $2, 'Team', '{}')", [
        workspace,
        account,
      ]);
    for (const [place, key] of keys.entries())
      await pool.query(
        `insert into api_keys (id, account_id, workspace_id, kind, name, hash, preview, created_by, tag)
         values ($1::uuid, $2, $3, 'inference', $4, $1::text, 'x', $5, $6)`,
        [key, account, workspaces[place % 2], `key ${place}`, members[place % 2], tags[place]],
      );
  });

  it('equals a sum over the rows, with any grouping and filters, and in exports', async () => {
    const rows = await all(exportUsage(pool, { accountId: account }, {}));
    const question = fc.record({
      groups: fc.subarray([...usageGroups], { minLength: 1 }),
      member_id: fc.constantFrom(undefined, undefined, ...members),
      tag: fc.constantFrom(undefined, undefined, 'red', 'none has it'),
      isNamed: fc.boolean(),
      model: fc.constantFrom(undefined, ...models),
      key_id: fc.constantFrom(undefined, ...keys),
      workspace_id: fc.constantFrom(undefined, ...workspaces),
      first: fc.integer({ min: -1, max: 66 }),
      length: fc.integer({ min: 1, max: 70 }),
    });
    await fc.assert(
      fc.asyncProperty(question, async ({ groups, first, length, isNamed, ...filters }) => {
        const from = firstDay / dayMs + first;
        const hours = { from: new Date(from * dayMs), to: new Date((from + length) * dayMs) };
        const asked: DailyQuestion = {
          accountId: account,
          days: { from, to: from + length },
          hours: groups.includes('hour') ? hours : undefined,
          groups,
          filters,
          isNamed,
        };
        const expected = new Map<string, { requests: number; tokens: number; costNusd: number }>();
        for (const row of rows) {
          const day = Math.floor(Date.parse(row.at) / dayMs);
          const place = keys.indexOf(row.key_id);
          const key = { member_id: members[place % 2], tag: tags[place] };
          const { model = row.model, key_id = row.key_id, workspace_id = row.workspace_id } = filters;
          const { member_id = key.member_id, tag = key.tag } = filters;
          if (day < from || day >= from + length) continue;
          if (row.model !== model || row.key_id !== key_id || row.workspace_id !== workspace_id) continue;
          if (key.member_id !== member_id || key.tag !== tag) continue;
          const hour = `${row.at.slice(0, 13)}:00:00.000Z`;
          const of = { ...row, ...key, hour, day: row.at.slice(0, 10), month: row.at.slice(0, 7) };
          const name = JSON.stringify(groups.map((group) => of[group]));
          const sum = expected.get(name) ?? { requests: 0, tokens: 0, costNusd: 0 };
          expected.set(name, {
            requests: sum.requests + 1,
            tokens: sum.tokens + row.prompt_tokens,
            costNusd: sum.costNusd + Math.round(Number(row.cost) * 1e9),
          });
        }
        const { data, total } = await done(readDaily(pool, asked));
        const told = data.map((row): [string, object] => [
          JSON.stringify(groups.map((group) => row[group])),
          { requests: row.requests, tokens: row.prompt_tokens, costNusd: Math.round(row.cost * 1e9) },
        ]);
        expect(new Map(told)).toEqual(expected);
        expect(told).toHaveLength(expected.size);
        expect(total.requests).toBe([...expected.values()].reduce((sum, { requests }) => sum + requests, 0));
        const exported = await all(exportDaily(pool, asked));
        expect(exported.map(({ cost, ...row }) => ({ ...row, cost: Number(cost) }))).toEqual(data);
      }),
      { numRuns: 80 },
    );
  });

  it('separates failed, cancelled and estimated requests, and every kind of token', async () => {
    const own = await newAccount();
    const same = { model: 'm/x', status: 'completed', estimated: false, provider: null, privacyClass: null } as const;
    const tokens = { promptTokens: 10, cachedTokens: 20, completionTokens: 30, reasoningTokens: 40, chargeNusd: '5' };
    const one = { ...same, ...tokens };
    await record([
      used(own, firstDay, one),
      used(own, firstDay, { ...one, status: 'failed' }),
      used(own, firstDay, { ...one, status: 'cancelled' }),
      used(own, firstDay, { ...one, status: 'cancelled', estimated: true }),
    ]);
    const { data, total } = await done(
      readDaily(pool, { accountId: own, days, groups: ['model', 'provider'], filters: {}, isNamed: true }),
    );
    const sums = {
      requests: 4,
      failed: 1,
      cancelled: 2,
      estimated: 1,
      prompt_tokens: 40,
      cached_tokens: 80,
      completion_tokens: 120,
      reasoning_tokens: 160,
      cost: 0.00000002,
    };
    expect(data).toEqual([{ model: 'm/x', provider: null, ...sums }]);
    expect(total).toEqual(sums);
  });

  it('is empty, with zeros, without usage', async () => {
    const { data, total } = await done(
      readDaily(pool, {
        accountId: await newAccount(),
        days,
        groups: ['day'],
        filters: {},
        isNamed: true,
      }),
    );
    expect(data).toEqual([]);
    expect(new Set(Object.values(total))).toEqual(new Set([0]));
  });

  it('of a month, and of a member or a tag, is found by indexes', async () => {
    await pool.query('analyze usage_daily, usage_daily_keys, api_keys');
    const asked = { accountId: account, days, isNamed: true };
    const month = { ...asked, groups: ['month', 'workspace_id', 'member_id', 'key_id', 'model'] } as const;
    const everyKey = await explained(pool, (database) => readDaily(database, { ...month, filters: {} }));
    expect(everyKey).toMatch(
      /Index Scan using usage_daily_\w+ on usage_daily r\n.*Index Cond: \(\(account_id = .* AND \(day >= /,
    );
    const ofWorkspace = { ...month, filters: { workspace_id: workspaces[0] } };
    expect(await explained(pool, (database) => readDaily(database, ofWorkspace))).toMatch(
      /usage_daily_workspace_idx on usage_daily r\n.*\(workspace_id = .* AND \(day >= /,
    );
    for (const [filters, index] of [
      [{ member_id: account }, 'api_keys_creator_idx'],
      [{ tag: 'red' }, 'api_keys_account_idx'],
    ] as const) {
      const plan = await explained(pool, (database) =>
        readDaily(database, { ...asked, groups: ['day', 'model'], filters }),
      );
      expect(plan).toMatch(/Index Cond: \(\(account_id = .*\(key_id = ANY/);
      expect(plan).toContain(`Index Scan using ${index} on api_keys`);
    }
  });

  it('by the hour is found by the indexes of rows', async () => {
    await pool.query('analyze usage, api_keys');
    const hours = { from: new Date(firstDay), to: new Date(firstDay + dayMs) };
    for (const [filters, condition] of [
      [{}, 'at >='],
      [{ workspace_id: workspaces[0] }, 'workspace_id ='],
      [{ key_id: keys[0] }, 'key_id ='],
      [{ model: 'm/one' }, 'model ='],
      [{ key_id: keys[0], model: 'm/one' }, 'key_id = .*model ='],
    ] as const) {
      const asked: DailyQuestion = {
        accountId: account,
        days,
        hours,
        groups: ['hour', 'model'],
        filters,
        isNamed: true,
      };
      const plan = await explained(pool, (database) => readDaily(database, asked));
      expect(plan, JSON.stringify(filters)).toMatch(
        new RegExp(
          `Index Scan using usage_\\w+ on usage_\\w+ r.*\\n.*Index Cond: .*account_id = .*${condition}.*at < `,
        ),
      );
      expect(plan, JSON.stringify(filters)).not.toContain('Filter');
    }
  });

  it('is rejected as JSON if it has too many groups, but can be exported', async () => {
    const own = await newAccount();
    await record(
      Array.from({ length: 10_001 }, (_, index) => used(own, firstDay + (index % 30) * dayMs, { model: `m/${index}` })),
    );
    const asked: DailyQuestion = { accountId: own, days, groups: ['day', 'model'], filters: {}, isNamed: true };
    expect(await endOf(readDaily(pool, asked))).toBe('too_many_groups');
    expect(await all(exportDaily(pool, asked))).toHaveLength(10_001);
    expect((await done(readDaily(pool, { ...asked, groups: ['day'] }))).data).toHaveLength(30);
  });
});
