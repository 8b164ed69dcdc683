import { type AccountRef, type AmountOwner, type EpochLedger, type Keys, openAccountRef } from '@sotto/state';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import type { accounts, apiKeys } from '../database/schema.ts';
import { budgetIdsOf } from '../ledger/budget-months.ts';
import type { Projector } from '../projection/projector.ts';
import type { Settler } from '../settler/settler.ts';

export interface EpochLedgerDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  readonly settler: Settler;
  readonly accountRefKey: Keys;
}

type KeyRow = SqlRow<typeof apiKeys, 'id' | 'account_id' | 'workspace_id' | 'created_by' | 'hash'> &
  SqlRow<typeof accounts, 'wallet_id'>;

/** Creates the Postgres side of a rebuild of the shared state. */
export function postgresEpochLedger({ pool, projector, settler, accountRefKey }: EpochLedgerDependencies): EpochLedger {
  return {
    async epochOf(shard) {
      const { rows } = await pool.query<{ epoch: string }>('select epoch from shard_epochs where shard = $1', [shard]);
      return Number(rows[0]?.epoch ?? 0);
    },

    async recordEpoch(shard, epoch) {
      await pool.query(
        `insert into shard_epochs (shard, epoch) values ($1, $2)
         on conflict (shard) do update set epoch = greatest(shard_epochs.epoch, excluded.epoch)`,
        [shard, epoch],
      );
    },

    async noteClients(clients) {
      const pairs = [...clients].flatMap(([shard, names]) => names.map((client) => ({ shard, client })));
      const columns = [pairs.map(({ shard }) => shard), pairs.map(({ client }) => client)];
      await pool.query(
        `insert into shard_clients (shard, client, seen_at)
         select shard, client, now() from unnest($1::int[], $2::text[]) as t (shard, client) order by 1, 2
         on conflict (shard, client) do update set seen_at = excluded.seen_at`,
        columns,
      );
      await pool.query(
        `delete from shard_clients where shard = any($3::int[])
           and (shard, client) not in (select * from unnest($1::int[], $2::text[]))`,
        [...columns, [...clients.keys()]],
      );
    },

    async clientsSeen(shard, withinMs) {
      const { rows } = await pool.query<{ client: string }>(
        `select client from shard_clients where shard = $1 and seen_at > now() - interval '10 minutes'
           and seen_at > (select max(seen_at) from shard_clients where shard = $1) - $2 * interval '1 millisecond'`,
        [shard, withinMs],
      );
      return rows.map(({ client }) => client);
    },

    openRef: (accountRef) => openAccountRef(accountRefKey, accountRef),

    async attribute(refs) {
      const { rows } = await pool.query<KeyRow>(
        `select k.id, k.account_id, k.workspace_id, k.created_by, a.wallet_id, k.hash
         from api_keys k join accounts a on a.id = k.account_id where k.id = any($1::uuid[])`,
        [[...new Set(refs.map(({ keyId }) => keyId))]],
      );
      const byKey = new Map(rows.map((row) => [row.id, row]));
      return new Map(
        refs.flatMap((ref): [AccountRef, AmountOwner][] => {
          const row = byKey.get(ref.keyId);
          if (row?.account_id !== ref.accountId) return [];
          return [[ref, { walletId: row.wallet_id, keyHash: row.hash, budgetIds: budgetIdsOf(row, ref.tagId) }]];
        }),
      );
    },

    async endedOf(holdIds) {
      const { rows } = await pool.query<{ id: string }>(
        `select id from settlements where id = any($1::text[])
         union select hold_id from rejected_settlements where resolved_at is not null and hold_id = any($1)`,
        [holdIds],
      );
      return new Set(rows.map(({ id }) => id));
    },

    drain: (shard) => settler.drain(shard),
    project: (shards) => projector.project(shards),
  };
}
