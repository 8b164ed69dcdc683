import { type DatabaseConnection, openDatabase } from '@sotto/control/database';
import { createAccount, insertKey } from '@sotto/control/testing';
import type { AccountRef, Settlement } from '@sotto/state';
import type pg from 'pg';
import { afterAll } from 'vitest';
import { startTestPostgres } from './postgres.ts';
import { until } from './until.ts';

/**
 * Opens a new, migrated database for the test file that calls it. It is dropped at the file's end.
 *
 * @param timezone - That of the connections, such as `Pacific/Auckland`. Default: the server's.
 */
export async function openTestDatabase({ timezone }: { readonly timezone?: string } = {}): Promise<DatabaseConnection> {
  const postgres = await startTestPostgres();
  const url = new URL(await postgres.createDatabase());
  if (timezone !== undefined) url.searchParams.set('options', `-c timezone=${timezone}`);
  const database = openDatabase(url.href);
  afterAll(async () => {
    await database.close();
    await postgres.stop();
  });
  return database;
}

/** Creates an account without a user and some keys of it, which have no limit. Returns a reference to each key. */
export async function makeOwners(pool: pg.Pool, keys: number): Promise<[AccountRef, ...AccountRef[]]> {
  const { accountId, defaultWorkspaceId: workspaceId } = await createAccount(pool, { userId: undefined, name: 'x' });
  const key = { accountId, workspaceId, kind: 'inference', name: 'x', openaiCompatible: true } as const;
  const makeOwner = async (): Promise<AccountRef> => {
    const { id: keyId } = await insertKey(pool, { ...key, creditLimitNusd: undefined });
    return { accountId, workspaceId, keyId };
  };
  const owners: [AccountRef, ...AccountRef[]] = [await makeOwner()];
  while (owners.length < keys) owners.push(await makeOwner());
  return owners;
}

/** The fields of a chat's settlement that tests are seldom about. */
export const settledChat: Omit<Settlement, 'id' | 'chargeNusd' | 'at'> = {
  ...{ v: 1, kind: 'charge', accountRef: '', operation: 'chat', model: 'm/one', provider: 'acme' },
  ...{ privacyClass: 'private', promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 },
  ...{ attempts: 1, fallback: false, status: 'completed', estimated: false },
};

export interface Held {
  /** A statement that locks the rows, such as `select 1 from orders for update`. */
  readonly rows: string;
  readonly values?: readonly unknown[];
  /** The beginning of the statement with which each call waits for these rows. */
  readonly waiting: string;
  /** The number of calls that must wait before the rows are released. Default: all. */
  readonly count?: number;
  /** Runs while the calls wait, with the connection that holds the rows. */
  readonly meanwhile?: (holder: pg.PoolClient) => Promise<unknown>;
}

/**
 * Locks rows until the calls wait for them, then releases them. By then each call has read the rows and none has
 * changed them. This interleaving shows a lost update. Resolves to the answers.
 */
export async function whileHeld<T>(pool: pg.Pool, held: Held, calls: readonly (() => Promise<T>)[]): Promise<T[]> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(held.rows, [...(held.values ?? [])]);
    const answers = Promise.all(calls.map((call) => call()));
    answers.catch(() => {});
    await until(async () => {
      const { rows } = await pool.query<{ count: string }>(
        `select count(*) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and starts_with(query, $1)`,
        [held.waiting],
      );
      // A statement of a background task may wait, too.
      return Number(rows[0]?.count) >= (held.count ?? calls.length);
    }, `calls wait with \`${held.waiting}\``);
    await held.meanwhile?.(client);
    await client.query('commit');
    return await answers;
  } finally {
    await client.query('rollback').catch(() => {});
    client.release();
  }
}
