import type { AccountRef, ToldSettlement } from '@sotto/state';
import { startTestPostgres } from '@sotto/test-servers';
import type pg from 'pg';
import { afterAll } from 'vitest';
import { createAccount } from '../accounts/ensure-account.ts';
import { type DatabaseConnection, openDatabase } from '../database/database.ts';
import { insertKey } from '../keys/key-store.ts';

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
export const settledChat: Omit<ToldSettlement, 'id' | 'chargeNusd' | 'at' | 'month'> = {
  ...{ v: 1, kind: 'charge', accountRef: '', operation: 'chat', model: 'm/one', provider: 'acme' },
  ...{ privacyClass: 'private', promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 },
  ...{ attempts: 1, fallback: false, status: 'completed', estimated: false },
};
