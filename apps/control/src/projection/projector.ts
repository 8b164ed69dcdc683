import {
  forEachReachable,
  indexShardOfKey,
  type KeyProjection,
  type ProjectionPort,
  sealAccountRef,
  shardOfWallet,
} from '@sotto/state';
import { initialPreferences, preferencesSchema } from '@sotto/wire';
import type pg from 'pg';
import type { ControlEvents } from '../events.ts';

export interface ProjectorDependencies {
  readonly pool: pg.Pool;
  readonly state: ProjectionPort;
  readonly accountRefKey: Buffer;
  readonly limits: { readonly requests: number; readonly tokens: number };
  readonly events: Pick<ControlEvents, 'projected' | 'unreadablePreferences'>;
}

interface WalletRow {
  wallet_id: string;
  balance_nusd: string;
  version: string;
}

interface KeyRow {
  id: string;
  account_id: string;
  workspace_id: string;
  wallet_id: string;
  kind: 'inference' | 'management';
  hash: string;
  credit_limit_nusd: string | null;
  spent_nusd: string;
  funds_version: string;
  generation: number;
  openai_compatible: boolean;
  limit_requests: number | null;
  limit_tokens: number | null;
  revoked_at: Date | null;
  preferences: unknown;
}

const keyQuery = `
  select k.id, k.account_id, k.workspace_id, a.wallet_id, k.kind, k.hash, k.credit_limit_nusd, k.spent_nusd,
    k.funds_version, k.generation, k.openai_compatible, k.limit_requests, k.limit_tokens, k.revoked_at, w.preferences
  from api_keys k join accounts a on a.id = k.account_id join workspaces w on w.id = k.workspace_id`;
const pageSize = 1000;
const refreshPage = 200;
const firstId = '00000000-0000-0000-0000-000000000000';

/** Writes what Postgres says about wallets and keys into the shared state. Always whole records, newer ones only. */
export class Projector {
  readonly #deps: ProjectorDependencies;
  /** How far `refresh` has come. */
  #refreshed = { account: firstId, key: firstId };

  constructor(deps: ProjectorDependencies) {
    this.#deps = deps;
  }

  async wallet(funds: {
    readonly walletId: string;
    readonly balanceNusd: bigint;
    readonly version: number;
  }): Promise<void> {
    await this.#deps.state.putWallet({ shard: shardOfWallet(funds.walletId), ...funds });
  }

  /** Projects one account's wallet as Postgres has it. */
  async account(accountId: string): Promise<void> {
    const { rows } = await this.#deps.pool.query<WalletRow>(
      'select wallet_id, balance_nusd, version from accounts where id = $1',
      [accountId],
    );
    for (const row of rows) await this.#putWallet(row);
  }

  /** Projects one key as Postgres has it. */
  async key(keyId: string): Promise<void> {
    const { rows } = await this.#deps.pool.query<KeyRow>(`${keyQuery} where k.id = $1`, [keyId]);
    for (const row of rows) await this.#deps.state.putKey(this.#toProjection(row));
  }

  /** Projects every wallet and key of these shards, and where keys are found that these shards are asked for. */
  async project(wanted: ReadonlySet<number>): Promise<void> {
    const { state, pool, events } = this.#deps;
    let accounts = 0;
    let keys = 0;
    for (let after = firstId, full = true; full; ) {
      const { rows } = await pool.query<WalletRow & { id: string }>(
        'select id, wallet_id, balance_nusd, version from accounts where id > $1 order by id limit $2',
        [after, pageSize],
      );
      const ours = rows.filter((row) => wanted.has(shardOfWallet(row.wallet_id)));
      await Promise.all(ours.map((row) => this.#putWallet(row)));
      accounts += ours.length;
      after = rows.at(-1)?.id ?? after;
      full = rows.length === pageSize;
    }
    for (let after = firstId, full = true; full; ) {
      const { rows } = await pool.query<KeyRow>(`${keyQuery} where k.id > $1 order by k.id limit $2`, [
        after,
        pageSize,
      ]);
      const ours = rows.filter((row) => wanted.has(shardOfWallet(row.wallet_id)));
      await Promise.all(ours.map((row) => state.putKey(this.#toProjection(row))));
      const elsewhere = rows
        .map((row) => ({ keyHash: row.hash, shard: shardOfWallet(row.wallet_id) }))
        .filter(({ keyHash, shard }) => !wanted.has(shard) && wanted.has(indexShardOfKey(keyHash)));
      await Promise.all(elsewhere.map((key) => state.indexKey(key)));
      keys += ours.length;
      after = rows.at(-1)?.id ?? after;
      full = rows.length === pageSize;
    }
    events.projected({ accounts, keys, shards: wanted.size });
  }

  /**
   * Projects what has changed since it was last projected: what a command wrote, or what could not be told when it was
   * written because the state was down. A key that was revoked must not live on because of that.
   */
  async catchUp(): Promise<boolean> {
    const { pool, state } = this.#deps;
    const wallets = await pool.query<WalletRow & { id: string }>(
      // In no order: those whom the state cannot be told of now must not stand before the others each time.
      `select id, wallet_id, balance_nusd, version from accounts where projected_version < version
       order by random() limit $1`,
      [pageSize],
    );
    const walletFailure = await forEachReachable(wallets.rows, async (row) => {
      await this.#putWallet(row);
      await pool.query('update accounts set projected_version = $2 where id = $1 and projected_version < $2', [
        row.id,
        row.version,
      ]);
    });
    const keys = await pool.query<KeyRow>(
      `${keyQuery} where k.projected_generation < k.generation order by random() limit $1`,
      [pageSize],
    );
    const keyFailure = await forEachReachable(keys.rows, async (row) => {
      await state.putKey(this.#toProjection(row));
      await pool.query('update api_keys set projected_generation = $2 where id = $1 and projected_generation < $2', [
        row.id,
        row.generation,
      ]);
    });
    const failure = keyFailure ?? walletFailure;
    if (failure !== undefined) throw failure;
    return wallets.rows.length === pageSize || keys.rows.length === pageSize;
  }

  /**
   * Projects the next page of everything, whatever Postgres says was projected: a replica that came up behind while the
   * control that had told it died is noticed by nobody who lives, and a revoked key must not live on for that.
   */
  async refresh(): Promise<void> {
    const { pool, state } = this.#deps;
    const wallets = await pool.query<WalletRow & { id: string }>(
      'select id, wallet_id, balance_nusd, version from accounts where id > $1 order by id limit $2',
      [this.#refreshed.account, refreshPage],
    );
    const walletFailure = await forEachReachable(wallets.rows, (row) => this.#putWallet(row));
    const keys = await pool.query<KeyRow>(`${keyQuery} where k.id > $1 order by k.id limit $2`, [
      this.#refreshed.key,
      refreshPage,
    ]);
    const keyFailure = await forEachReachable(keys.rows, (row) => state.putKey(this.#toProjection(row)));
    this.#refreshed = {
      account: wallets.rows.length === refreshPage ? (wallets.rows.at(-1)?.id ?? firstId) : firstId,
      key: keys.rows.length === refreshPage ? (keys.rows.at(-1)?.id ?? firstId) : firstId,
    };
    const failure = walletFailure ?? keyFailure;
    if (failure !== undefined) throw failure;
  }

  async #putWallet(row: WalletRow): Promise<void> {
    await this.wallet({ walletId: row.wallet_id, balanceNusd: BigInt(row.balance_nusd), version: Number(row.version) });
  }

  #toProjection(row: KeyRow): KeyProjection {
    const { accountRefKey, limits, events } = this.#deps;
    // Preferences that nobody can read permit nothing: the key is as good as revoked, and all others go on.
    const preferences = preferencesSchema.safeParse(row.preferences);
    if (!preferences.success) events.unreadablePreferences({ workspaceId: row.workspace_id });
    return {
      shard: shardOfWallet(row.wallet_id),
      keyHash: row.hash,
      walletId: row.wallet_id,
      generation: row.generation,
      active: row.revoked_at === null && preferences.success,
      record: {
        v: 1,
        kind: row.kind,
        openaiCompatible: row.openai_compatible,
        preferences: preferences.data ?? initialPreferences,
        accountRef: sealAccountRef(accountRefKey, {
          accountId: row.account_id,
          workspaceId: row.workspace_id,
          keyId: row.id,
        }),
      },
      limitFundsNusd:
        row.credit_limit_nusd === null ? undefined : BigInt(row.credit_limit_nusd) - BigInt(row.spent_nusd),
      fundsVersion: Number(row.funds_version),
      limitRequests: row.limit_requests ?? limits.requests,
      limitTokens: row.limit_tokens ?? limits.tokens,
    };
  }
}
