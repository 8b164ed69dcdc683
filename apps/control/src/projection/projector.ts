import { repeat } from '@sotto/server';
import { forEachReachable, indexShardOfKey, type ProjectionPort, shardOfWallet, workspaceIdOf } from '@sotto/state';
import { preferencesSchema } from '@sotto/wire';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import { listen } from '../database/listen.ts';
import type { budgets } from '../database/schema.ts';
import type { Domain } from '../domain.ts';
import type { ControlEvents } from '../events.ts';
import { type BudgetOwner, oldestMonth, stateIdOf } from '../ledger/budget-months.ts';
import {
  type BudgetRow,
  budgetQuery,
  type KeyRow,
  type KeyTerms,
  keyProjection,
  keyQuery,
  secretsOf,
  type WalletRow,
  type WorkspaceRow,
  walletQuery,
  workspaceQuery,
} from './projected-rows.ts';

export interface ProjectorDependencies extends KeyTerms {
  readonly pool: pg.Pool;
  readonly state: ProjectionPort;
  readonly events: Pick<ControlEvents, 'projected' | 'unreadablePreferences'>;
}

/** The state remembers removed records for longer (`lateMs`), so an older projection never brings one back. */
const staleMs = 60_000;
/** The interval at which changes are looked for that nothing announced. */
const catchUpMs = 2_000;
const isUnprojected = `exists (select from accounts where projected_version < version)
  or exists (select from workspaces where projected_version < version)
  or exists (select from api_keys where projected_generation < generation)
  or exists (select from budgets where projected_version < version)`;
/** The interval at which a page of all records is projected again, even if nothing changed. */
const refreshMs = 5_000;
const pageSize = 1000;
const refreshPage = 500;
const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * Writes wallets, keys, preferences and budgets from Postgres to the shared state, always as whole records. The state accepts only
 * newer ones. A key that no request may use has no record.
 */
export class Projector {
  readonly #deps: ProjectorDependencies;
  /** The last account, key and budget that `refresh` has projected. */
  #refreshed = { account: firstId, key: firstId, budget: firstId };

  constructor(deps: ProjectorDependencies) {
    this.#deps = deps;
  }

  /** Projects one account’s wallet from Postgres. */
  async account(accountId: string): Promise<void> {
    const { rows } = await this.#deps.pool.query<WalletRow>(`${walletQuery} where id = $1`, [accountId]);
    for (const row of rows) await this.#putWallet(row);
  }

  /** Projects one key from Postgres. */
  async key(keyId: string): Promise<void> {
    const { rows } = await this.#deps.pool.query<KeyRow>(`${keyQuery} where k.id = $1`, [keyId]);
    for (const row of rows) await this.#putKey(row);
  }

  /** Projects the preferences of a workspace from Postgres, for all of its keys at once. */
  async preferences(workspaceId: string): Promise<void> {
    const { rows } = await this.#deps.pool.query<WorkspaceRow>(`${workspaceQuery} where w.id = $1`, [workspaceId]);
    for (const row of rows) await this.#putWorkspace(row);
  }

  /** Projects keys from Postgres, a page of them at a time. */
  async keys(keyIds: readonly string[]): Promise<void> {
    for (let at = 0; at < keyIds.length; at += refreshPage) {
      const page = keyIds.slice(at, at + refreshPage);
      const { rows } = await this.#deps.pool.query<KeyRow>(`${keyQuery} where k.id = any($1::uuid[])`, [page]);
      await Promise.all(rows.map((row) => this.#putKey(row)));
    }
  }

  /** Projects the budgets of a workspace that have changed since their last projection. */
  async budgets(workspaceId: string): Promise<void> {
    const { rows } = await this.#deps.pool.query<BudgetRow>(
      `${budgetQuery} where b.workspace_id = $2 and b.projected_version < b.version`,
      [oldestMonth(Date.now()), workspaceId],
    );
    for (const row of rows) await this.#putBudget(row, true);
  }

  /**
   * Removes the budgets that a workspace had while another account paid for it. No key names them any more. The removal of a budget may
   * have been projected since then, to the present account. So this reads those that were removed of late, too.
   */
  async forgetBudgets(workspaceId: string, formerPayerId: string): Promise<void> {
    const { pool, state } = this.#deps;
    const { rows } = await pool.query<BudgetOwner & SqlRow<typeof budgets, 'version'> & { wallet_id: string }>(
      `select b.workspace_id, b.member_id, b.key_id, b.tag_id, b.version, a.id as account_id, a.wallet_id
       from budgets b join accounts a on a.id = $2 where b.workspace_id = $1
         and (b.limit_nusd is not null or b.projected_version < b.version or b.projected_at > now() - interval '1 day')`,
      [workspaceId, formerPayerId],
    );
    for (const row of rows) {
      const budget = { shard: shardOfWallet(row.wallet_id), budgetId: stateIdOf(row), version: Number(row.version) };
      await state.removeBudget({ ...budget, isNews: false });
    }
  }

  /**
   * Projects every wallet, key and budget of these shards, the preferences that the keys share, and the entries of their key index.
   * Removes what a shard still has of other keys and budgets, and otherwise writes nothing for these. Returns the first failure of
   * each shard that lacks something. One damaged record must not block the other shards.
   */
  async project(requested: ReadonlySet<number>): Promise<ReadonlyMap<number, unknown>> {
    const { state, events } = this.#deps;
    const failures = new Map<number, unknown>();
    const isLeft = (shard: number): boolean => requested.has(shard) && !failures.has(shard);
    const isAnyLeft = (): boolean => failures.size < requested.size;
    const shardOf = (row: { readonly wallet_id: string }): number => shardOfWallet(row.wallet_id);
    const write = async (affected: readonly number[], put: () => Promise<void>): Promise<void> => {
      try {
        await put();
      } catch (error) {
        for (const shard of affected) if (isLeft(shard)) failures.set(shard, error);
      }
    };
    let accounts = 0;
    let keys = 0;
    for await (const rows of allPages((after) => this.#walletsAfter(after, pageSize), isAnyLeft)) {
      const ours = rows.filter((row) => isLeft(shardOf(row)));
      await Promise.all(ours.map((row) => write([shardOf(row)], () => this.#putWallet(row))));
      accounts += ours.length;
    }
    for await (const rows of allPages((after) => this.#keysAfter(after, pageSize), isAnyLeft)) {
      const ours = rows.filter((row) => isLeft(shardOf(row)));
      const lacking = new Set<string>();
      const put = async (row: KeyRow): Promise<void> => {
        if (await this.#writeKey(row, { isNews: false })) lacking.add(row.workspace_id);
      };
      await Promise.all(ours.map((row) => write([shardOf(row)], () => put(row))));
      const shared = await this.#workspacesOf([...lacking]);
      await Promise.all(shared.map((row) => write([shardOf(row)], () => this.#putWorkspace(row))));
      // Keys of other shards, and of shards that have failed by now: a shard that opens may have their index entries.
      const elsewhere = rows.flatMap((row) => {
        if (!row.is_usable) return [];
        const key = { keyHash: row.hash, shard: shardOf(row), secrets: secretsOf(row) };
        const hashes = [key.keyHash, ...(key.secrets ?? []).map(({ secretHash }) => secretHash)];
        const affected = hashes.map(indexShardOfKey).filter(isLeft);
        return isLeft(key.shard) || affected.length === 0 ? [] : [{ key, affected }];
      });
      await Promise.all(elsewhere.map(({ key, affected }) => write(affected, () => state.indexKey(key))));
      keys += ours.filter((row) => row.is_usable).length;
    }
    for await (const rows of allPages((after) => this.#budgetsAfter(after, pageSize), isAnyLeft)) {
      const ours = rows.filter((row) => isLeft(shardOf(row)));
      await Promise.all(ours.map((row) => write([shardOf(row)], () => this.#putBudget(row, false))));
    }
    if (isAnyLeft()) events.projected({ accounts, keys, shards: requested.size - failures.size });
    return failures;
  }

  /**
   * Projects records that have changed since their last projection: changes by a command, and changes while the state
   * was unavailable. Otherwise, a revoked key could stay valid.
   */
  async catchUp(): Promise<boolean> {
    const { pool } = this.#deps;
    const readAt = performance.now();
    const wallets = await pool.query<WalletRow>(
      // Random order, so that wallets of an unavailable shard do not come before the others each time.
      `${walletQuery} where projected_version < version order by random() limit $1`,
      [pageSize],
    );
    const walletFailure = await forEachReachable(wallets.rows, async (row) => {
      await this.#putWallet(row);
      await pool.query('update accounts set projected_version = $2 where id = $1 and projected_version < $2', [
        row.id,
        row.version,
      ]);
    });
    const changed = await pool.query<WorkspaceRow>(
      `${workspaceQuery} where w.projected_version < w.version order by random() limit $1`,
      [pageSize],
    );
    const preferencesFailure = await forEachReachable(whileFresh(changed.rows, readAt), (row) =>
      this.#putWorkspace(row),
    );
    const keys = await pool.query<KeyRow>(
      `${keyQuery} where k.projected_generation < k.generation order by random() limit $1`,
      [pageSize],
    );
    const keyFailure = await forEachReachable(whileFresh(keys.rows, readAt), async (row) => {
      await this.#putKey(row);
      await pool.query('update api_keys set projected_generation = $2 where id = $1 and projected_generation < $2', [
        row.id,
        row.generation,
      ]);
    });
    const budgets = await pool.query<BudgetRow>(
      `${budgetQuery} where b.projected_version < b.version order by random() limit $2`,
      [oldestMonth(Date.now()), pageSize],
    );
    const budgetFailure = await forEachReachable(whileFresh(budgets.rows, readAt), (row) => this.#putBudget(row, true));
    const failure = keyFailure ?? walletFailure ?? preferencesFailure ?? budgetFailure;
    if (failure !== undefined) throw failure;
    return [wallets, changed, keys, budgets].some(({ rows }) => rows.length === pageSize);
  }

  /**
   * Projects the next page of all records, even those that Postgres has as projected. After a failover, a Redis replica
   * may lack recent writes without any running process noticing. Without this, a revoked key could stay valid.
   */
  async refresh(): Promise<void> {
    const readAt = performance.now();
    const wallets = await this.#walletsAfter(this.#refreshed.account, refreshPage);
    const walletFailure = await forEachReachable(wallets, (row) => this.#putWallet(row));
    const keys = await this.#keysAfter(this.#refreshed.key, refreshPage);
    const keyFailure = await forEachReachable(whileFresh(keys, readAt), (row) => this.#putKey(row, { isNews: false }));
    const budgets = await this.#budgetsAfter(this.#refreshed.budget, refreshPage);
    const budgetFailure = await forEachReachable(whileFresh(budgets, readAt), (row) => this.#putBudget(row, false));
    this.#refreshed = { account: nextAfter(wallets), key: nextAfter(keys), budget: nextAfter(budgets) };
    const failure = walletFailure ?? keyFailure ?? budgetFailure;
    if (failure !== undefined) throw failure;
  }

  async #walletsAfter(id: string, limit: number): Promise<WalletRow[]> {
    const query = `${walletQuery} where id > $1 order by id limit $2`;
    return (await this.#deps.pool.query<WalletRow>(query, [id, limit])).rows;
  }

  async #keysAfter(id: string, limit: number): Promise<KeyRow[]> {
    const query = `${keyQuery} where k.id > $1 order by k.id limit $2`;
    return (await this.#deps.pool.query<KeyRow>(query, [id, limit])).rows;
  }

  async #budgetsAfter(id: string, limit: number): Promise<BudgetRow[]> {
    const query = `${budgetQuery} where b.id > $2 order by b.id limit $3`;
    return (await this.#deps.pool.query<BudgetRow>(query, [oldestMonth(Date.now()), id, limit])).rows;
  }

  async #putWallet(row: WalletRow): Promise<void> {
    await this.#deps.state.putWallet({
      shard: shardOfWallet(row.wallet_id),
      walletId: row.wallet_id,
      balanceNusd: BigInt(row.balance_nusd),
      version: Number(row.version),
    });
  }

  async #workspacesOf(ids: readonly string[]): Promise<WorkspaceRow[]> {
    if (ids.length === 0) return [];
    return (await this.#deps.pool.query<WorkspaceRow>(`${workspaceQuery} where w.id = any($1::uuid[])`, [ids])).rows;
  }

  /** Writes or removes a key's record, and writes the preferences if the state lacks them. */
  async #putKey(row: KeyRow, how = { isNews: true }): Promise<void> {
    // Read again, because the preferences may have changed since the key was read. An older version would be refused.
    if (await this.#writeKey(row, how)) await this.preferences(row.workspace_id);
  }

  /** Writes or removes a key's record. Returns whether the state lacks its workspace's preferences. */
  async #writeKey(row: KeyRow, { isNews }: { readonly isNews: boolean }): Promise<boolean> {
    const { state } = this.#deps;
    if (row.is_usable) return state.putKey(keyProjection(row, this.#deps));
    const { wallet_id, hash: keyHash, generation } = row;
    await state.removeKey({ shard: shardOfWallet(wallet_id), keyHash, generation, secrets: secretsOf(row), isNews });
    return false;
  }

  async #putWorkspace(row: WorkspaceRow): Promise<void> {
    const { pool, state, events } = this.#deps;
    // Unreadable preferences permit nothing. Keys of other workspaces are not affected.
    const preferences = preferencesSchema.safeParse(row.preferences);
    if (!preferences.success) events.unreadablePreferences({ workspaceId: row.id });
    await state.putWorkspace({
      shard: shardOfWallet(row.wallet_id),
      workspaceId: workspaceIdOf(row.account_id, row.id),
      version: Number(row.version),
      ticketsSince: Number(row.tickets_since),
      preferences: preferences.data,
    });
    await pool.query('update workspaces set projected_version = $2 where id = $1 and projected_version < $2', [
      row.id,
      row.version,
    ]);
  }

  async #putBudget(row: BudgetRow, isNews: boolean): Promise<void> {
    const { pool, state } = this.#deps;
    const shard = shardOfWallet(row.wallet_id);
    const budget = { shard, budgetId: stateIdOf(row), version: Number(row.version) };
    if (row.limit_nusd === null) {
      await state.removeBudget({ ...budget, isNews });
    } else {
      await state.putBudget({
        ...budget,
        limitNusd: BigInt(row.limit_nusd),
        keptSince: oldestMonth(Date.now()),
        spent: Object.entries(row.spent ?? {}).map(([month, nusd]) => ({ month, spentNusd: BigInt(nusd) })),
      });
    }
    await pool.query(
      'update budgets set projected_version = $2, projected_at = now() where id = $1 and projected_version < $2',
      [row.id, row.version],
    );
  }
}

/** Yields all rows in the order of their ids, page by page, while they are needed. */
async function* allPages<Row extends { readonly id: string }>(
  read: (after: string) => Promise<readonly Row[]>,
  isNeeded: () => boolean,
): AsyncGenerator<readonly Row[]> {
  for (let after: string | undefined = firstId; after !== undefined && isNeeded(); ) {
    const rows: readonly Row[] = await read(after);
    yield rows;
    after = rows.length === pageSize ? rows.at(-1)?.id : undefined;
  }
}

/** Yields rows until they are too old to be projected. A later round reads the others again. `readAt` is of `performance.now()`. */
function* whileFresh<Row>(rows: readonly Row[], readAt: number): Generator<Row> {
  for (const row of rows) {
    if (performance.now() - readAt > staleMs) return;
    yield row;
  }
}

/** Returns where the page after a page of `refresh` begins: after the last page, from the first again. */
const nextAfter = (page: readonly { readonly id: string }[]): string =>
  page.length === refreshPage ? (page.at(-1)?.id ?? firstId) : firstId;

export interface ProjectionDependencies {
  readonly projector: Projector;
  readonly databaseUrl: string;
  /** True if the shared state is in this process, so that no replica of it can lack what was written. */
  readonly isAlone: boolean;
}

export const buildProjection = ({ projector, databaseUrl, isAlone }: ProjectionDependencies): Domain => ({
  tasks(failed, due) {
    const missed = { question: isUnprojected, everyMs: catchUpMs };
    const catchUp = due.when(missed, () => projector.catchUp(), failed('projection'));
    return [
      catchUp,
      listen(databaseUrl, 'sotto_projection', { wake: catchUp.wake, failed: failed('projection') }),
      ...(isAlone ? [] : [repeat(refreshMs, () => projector.refresh(), failed('refresh'))]),
    ];
  },
});
