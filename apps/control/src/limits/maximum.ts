import type { Maxima, MaximumName } from '@sotto/contract';
import type pg from 'pg';
import { heldExpiry } from '../database/held-rules.ts';
import { Refused } from '../database/refused.ts';

const countsYet = (column: string): string => `(${column} is null or ${column} > now() - interval '1 day')`;

/**
 * SQL: whether the key `k` of the workspace `w` counts, unless it is revoked. An expired one may be prolonged, and then takes a place
 * again. A looser policy may give keys back beyond the maximum.
 */
export const keyCounts = countsYet(heldExpiry);

/**
 * SQL: whether the budget `b` counts. A removed one stays as a row. So it counts until a day after its removal reached the state, or
 * setting and removing budgets in turn would create any number of rows.
 */
export const budgetCounts = `(not b.is_default and (b.limit_nusd is not null or b.projected_version < b.version or ${countsYet('b.projected_at')}))`;

/**
 * SQL that counts what the account `$1` has. Ended things count for a day, so that creating and ending them in turn is bounded too.
 * Revoked keys count only against the member `$2` who created them, so that a member cannot use up the owner's keys for a day.
 */
const counts: Readonly<Record<MaximumName, string>> = {
  keys: `select count(*) from api_keys k join workspaces w on w.id = k.workspace_id where k.account_id = $1 and ${keyCounts}
    and (k.revoked_at is null or k.created_by = $2 and ${countsYet('k.revoked_at')})`,
  workspaces: `select count(*) from workspaces where account_id = $1 and ${countsYet('deleted_at')}`,
  budgets: `select count(*) from budgets b join workspaces w on w.id = b.workspace_id
    where w.account_id = $1 and ${budgetCounts}`,
  apps: `select count(*) from connect_apps where account_id = $1 and ${countsYet('disabled_at')}`,
  invitations: `select count(*) from workspace_invitations i join workspaces w on w.id = i.workspace_id
    where w.account_id = $1 and w.deleted_at is null and i.expires_at > now()`,
  passkeys: 'select count(*) from auth_passkey p join accounts a on a.user_id = p.user_id where a.id = $1',
};

/** The account that something is about to be created for, and the maxima in force. */
export interface Creation {
  readonly accountId: string;
  /** The account that creates it. Default: the same account. */
  readonly creatorId?: string;
  readonly maxima: Maxima;
}

/** As many of something as an account may have. */
export interface AtMaximum {
  readonly why: 'at_maximum';
  readonly name: MaximumName;
  readonly count: number;
  readonly most: number;
}

/**
 * Returns a refusal if an account has the most that it may have. Call it in the transaction that creates another one, just before.
 *
 * Two simultaneous creations at the last place: both take the same lock, which ends with the transaction. The second counts after the
 * first has committed, in a statement of its own, so it sees the new row. The lock is of its own, because bookings hold the account's
 * row. An insertion that holds this lock may wait for that row. Bookings never take this lock, so the two cannot wait for each other.
 */
export async function atMaximum(
  client: pg.PoolClient,
  name: MaximumName,
  { accountId, creatorId = accountId, maxima: { [name]: most } }: Creation,
): Promise<Refused<AtMaximum> | undefined> {
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${name} ${accountId}`]);
  const { rows } = await client.query<{ count: string }>(
    counts[name],
    name === 'keys' ? [accountId, creatorId] : [accountId],
  );
  const count = Number(rows[0]?.count ?? 0);
  return count < most ? undefined : new Refused({ why: 'at_maximum', name, count, most });
}
