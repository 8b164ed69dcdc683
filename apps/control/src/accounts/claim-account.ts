import type pg from 'pg';
import { hasSqlState } from '../database/failures.ts';
import { inTransaction } from '../database/in-transaction.ts';

/** Removes one domain's rights from an account, within the claim's transaction. Returns the ids of the revoked keys. */
export type ClaimStep = (client: pg.PoolClient, userId: string) => Promise<readonly string[]>;

/** SQLSTATEs of a transaction that Postgres has ended for another one, and that may be tried again. */
const yielded = ['40P01', '40001'];
const maxTries = 5;

/**
 * Gives an account to the owner of its address, after a person who never verified the address may have used it. That
 * person loses all keys, apps, webhooks, memberships and invitations. Money, usage and settings stay. Returns the ids of the
 * revoked keys, for the projector.
 *
 * The password is set already, and no other task ends what that person has. So a claim that Postgres ends for another transaction is
 * tried again.
 *
 * All changes lock in one order: workspaces by their ids, a permission to withdraw, accounts by their ids, apps, keys by their ids, budgets.
 * A claim locks no account, because nothing of it changes one. It locks every key that a step revokes before the first one changes, because
 * a booking of several keys locks them by their ids.
 */
export async function claimAccount(
  pool: pg.Pool,
  userId: string,
  steps: readonly ClaimStep[],
): Promise<readonly string[]> {
  const claim = (): Promise<readonly string[]> =>
    inTransaction(pool, async (client) => {
      await lockClaimed(client, userId);
      const keyIds: string[] = [];
      for (const step of steps) keyIds.push(...(await step(client, userId)));
      return keyIds;
    });
  for (let tries = 1; ; tries += 1) {
    try {
      return await claim();
    } catch (error) {
      if (tries === maxTries || !yielded.some((state) => hasSqlState(error, state))) throw error;
    }
  }
}

async function lockClaimed(client: pg.PoolClient, userId: string): Promise<void> {
  const account = '(select id from accounts where user_id = $1)';
  const joined = `(select workspace_id from workspace_members where account_id = ${account})`;
  const owned = `(select id from workspaces where account_id = ${account} and deleted_at is null)`;
  const apps = `(select id from connect_apps where account_id = ${account} and disabled_at is null)`;
  const lock = (rows: string): Promise<unknown> => client.query(`select from ${rows} order by id for update`, [userId]);
  await lock(`workspaces where id in ${owned} or id in ${joined}`);
  await lock(`connect_apps where id in ${apps}`);
  await lock(`api_keys where revoked_at is null and (workspace_id in ${owned}
    or created_by = ${account} and workspace_id in ${joined}
    or id in (select key_id from connect_grants where app_id in ${apps}))`);
}
