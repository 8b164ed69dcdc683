import { randomUUID } from 'node:crypto';
import {
  type AttributedSettlement,
  bookSettlements,
  createAccount,
  creditAccount,
  insertKey,
  openDatabase,
} from '@sotto/control';
import { type AccountRef, monthOf } from '@sotto/state';
import type pg from 'pg';
import { figure } from '../page/report.ts';

export interface Growth {
  /** Bytes of a request in all tables together. */
  readonly bytes: number;
  /** Each table and its part of them. */
  readonly tables: readonly string[];
  /** Bytes of an entry of the audit log. */
  readonly bytesPerAct: number;
}

const batchSize = 200;
const tables = ['usage', 'settlements', 'ledger_transactions', 'ledger_entries'] as const;

/** Books requests of 200 accounts, and measures by how much each table that has rows per request grows, with its indexes. */
export async function measureGrowth(databaseUrl: string, requests: number): Promise<Growth> {
  const { pool, close } = openDatabase(databaseUrl);
  const owners: AccountRef[] = [];
  for (let made = 0; made < 200; made += 1) {
    const { accountId, defaultWorkspaceId: workspaceId } = await createAccount(pool, { userId: undefined, name: 'x' });
    await creditAccount(pool, { accountId, amountNusd: 10n ** 13n, kind: 'top_up', reference: `bench:${accountId}` });
    const key = { accountId, workspaceId, kind: 'inference', name: 'x', openaiCompatible: true } as const;
    for (let each = 0; each < 2; each += 1) await insertKey(pool, { ...key, creditLimitNusd: undefined });
    const { rows } = await pool.query<{ id: string }>('select id from api_keys where account_id = $1', [accountId]);
    for (const { id: keyId } of rows) owners.push({ accountId, workspaceId, keyId });
  }
  const sizes = async (): Promise<number[]> => {
    const { rows } = await pool.query<{ size: string }>(
      `select coalesce((select sum(pg_total_relation_size(relid)) from pg_partition_tree(name::regclass)),
         pg_total_relation_size(name::regclass)) as size
       from unnest($1::text[]) with ordinality as t (name, place) order by place`,
      [tables],
    );
    return rows.map(({ size }) => Number(size));
  };
  const before = await sizes();
  for (let booked = 0; booked < requests; booked += batchSize) {
    await bookSettlements(
      pool,
      Array.from({ length: batchSize }, (_, index) => settlementOf(owners[(booked + index * 7) % owners.length])),
    );
  }
  const after = await sizes();
  const bytesPerAct = await measureActs(pool);
  await close();
  const each = tables.map((_, index) => ((after[index] ?? 0) - (before[index] ?? 0)) / requests);
  return {
    bytes: each.reduce((sum, bytes) => sum + bytes, 0),
    tables: tables.map((name, index) => `${name} ${figure(each[index] ?? 0)}`),
    bytesPerAct,
  };
}

/** Acts as `recordAct` writes them, such as a change of a role. */
async function measureActs(pool: pg.Pool): Promise<number> {
  const count = 50_000;
  await pool.query(
    `insert into acts (id, at, actor, actor_account_id, act, account_id, workspace_id, details)
     select gen_random_uuid(), now() + n * interval '1 second', 'account', gen_random_uuid(), 'member_role_changed', null,
       gen_random_uuid(), json_build_object('account_id', gen_random_uuid(), 'role', 'admin')
     from generate_series(1, $1::int) as n`,
    [count],
  );
  const { rows } = await pool.query<{ size: string }>("select pg_total_relation_size('acts') as size");
  return Number(rows[0]?.size) / count;
}

function settlementOf(owner: AccountRef | undefined): AttributedSettlement {
  const model = Math.floor(50 * Math.random() ** 3);
  return {
    owner,
    settlement: {
      ...{ v: 1, id: randomUUID(), kind: 'charge', accountRef: '', operation: 'chat' },
      chargeNusd: String(1 + Math.floor(Math.random() * 5_000_000)),
      at: Math.floor(Date.now() / 60_000) * 60_000,
      model: `creator-${model % 7}/model-${model}`,
      provider: `provider-${model % 9}`,
      privacyClass: 'private',
      promptTokens: Math.floor(Math.random() * 4000),
      completionTokens: Math.floor(Math.random() * 1000),
      ...{ cachedTokens: 0, reasoningTokens: 0, attempts: 1, fallback: false, status: 'completed', estimated: false },
      month: monthOf(Date.now()),
    },
  };
}
