import { StateUnavailableError } from '@sotto/state';
import type pg from 'pg';
import { removeBudgets } from '../ledger/remove-budgets.ts';
import type { Projector } from './projector.ts';

interface ChangedKeys {
  /** A condition on the keys `k`. */
  readonly where: string;
  readonly values: readonly unknown[];
  readonly revokes: boolean;
  /** The limits of the keys change with it. */
  readonly changesFunds?: boolean;
  /** The most keys to change. Default: all. */
  readonly most?: number;
}

/**
 * Raises the generation of keys, within the caller's transaction, and revokes them with their budgets if it is asked to. Returns their
 * ids, for `projectKeys`. Locks the keys in the order in which bookings update them, so that the two cannot deadlock.
 */
export async function changeKeys(
  client: pg.PoolClient,
  { where, values, revokes, changesFunds = false, most }: ChangedKeys,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `with changing as (select k.id from api_keys k where ${where} order by k.id
       ${most === undefined ? '' : `limit ${most}`} for update)
     update api_keys set ${revokes ? 'revoked_at = now(), ' : ''}${changesFunds ? 'funds_version = funds_version + 1, ' : ''}
       generation = generation + 1
     from changing where api_keys.id = changing.id returning api_keys.id`,
    [...values],
  );
  const keyIds = rows.map(({ id }) => id);
  if (revokes) await removeBudgets(client, { where: 'b.key_id = any($1::uuid[])', values: [keyIds] });
  return keyIds;
}

/**
 * Projects changed keys. When this resolves, every broker knows them, unless the state was unavailable to this process. A state that is
 * down admits no request. If control alone cannot reach it, brokers still admit requests of revoked keys. Either way, the projector
 * catches up once control reaches the state again.
 */
export async function projectKeys(projector: Pick<Projector, 'keys'>, keyIds: readonly string[]): Promise<void> {
  await projector.keys(keyIds).catch(unlessUnavailable);
}

/** Projects the preferences of a workspace. The same holds as for `projectKeys`: brokers may still go by those of before. */
export async function projectPreferences(
  projector: Pick<Projector, 'preferences'>,
  workspaceId: string,
): Promise<void> {
  await projector.preferences(workspaceId).catch(unlessUnavailable);
}

/** Projects the budgets of a workspace. The same holds as for `projectKeys`: brokers may still enforce those of before. */
export async function projectBudgets(projector: Pick<Projector, 'budgets'>, workspaceId: string): Promise<void> {
  await projector.budgets(workspaceId).catch(unlessUnavailable);
}

/** Throws an error, unless it means that the state is unavailable. */
export function unlessUnavailable(error: unknown): void {
  if (!(error instanceof StateUnavailableError)) throw error;
}
