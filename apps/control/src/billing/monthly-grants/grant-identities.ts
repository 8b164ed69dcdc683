import { createHmac, randomBytes } from 'node:crypto';
import { monthOf } from '@sotto/state';
import type pg from 'pg';
import { foldAddress } from './fold-address.ts';

/** The address and the OpenID subjects of an account. Two accounts with one of them in common belong to one person. */
export interface Identities {
  /** Undefined if the account has no user. */
  readonly address: { readonly email: string; readonly isVerified: boolean } | undefined;
  readonly subjects: readonly string[];
}

/** Reads the identities of an account. Call it under a lock on the account, which a deletion takes, too. */
export async function readIdentities(client: pg.PoolClient, accountId: string): Promise<Identities> {
  const { rows } = await client.query<{ email: string; email_verified: boolean; subjects: string[] }>(
    `select u.email, u.email_verified, array(
       select o.provider_id || ':' || o.account_id from auth_account o
       where o.user_id = u.id and o.provider_id <> 'credential') as subjects
     from accounts a join auth_user u on u.id = a.user_id where a.id = $1`,
    [accountId],
  );
  const [row] = rows;
  if (row === undefined) return { address: undefined, subjects: [] };
  return { address: { email: row.email, isVerified: row.email_verified }, subjects: row.subjects };
}

/**
 * Remembers identities for a month. Returns whether all of them are new. Of several transactions that remember the same one, only the
 * first to commit gets true, because the others wait for it.
 */
export async function rememberIdentities(
  client: pg.PoolClient,
  month: string,
  { address, subjects }: Identities,
): Promise<boolean> {
  const texts = [...(address ? [`email:${foldAddress(address.email)}`] : []), ...subjects.map((each) => `sub:${each}`)];
  if (texts.length === 0) return true;
  const key = await keyOf(client, month);
  // In one order, so that two transactions never wait for each other.
  const hashes = texts.map((text) => createHmac('sha256', key).update(text).digest('base64url')).sort();
  const { rowCount } = await client.query(
    `insert into grant_identities (month, hash) select $1, hash from unnest($2::text[]) as hash
     on conflict (month, hash) do nothing`,
    [month, hashes],
  );
  return rowCount === hashes.length;
}

/** Returns the key of a month. The first transaction that needs it creates it. */
async function keyOf(client: pg.PoolClient, month: string): Promise<Buffer> {
  const find = () => client.query<{ key: string }>('select key from grant_keys where month = $1', [month]);
  let { rows } = await find();
  if (rows.length === 0) {
    await client.query('insert into grant_keys (month, key) values ($1, $2) on conflict (month) do nothing', [
      month,
      randomBytes(32).toString('base64url'),
    ]);
    // The insert waits for a transaction that creates the key at the same moment. This query then sees its key.
    ({ rows } = await find());
  }
  const [row] = rows;
  if (row === undefined) throw new Error('the key of the month was neither found nor made');
  return Buffer.from(row.key, 'base64url');
}

/** Processes whose clocks differ by less than this agree on the months that are over. */
const skewMs = 3_600_000;

/**
 * Deletes the keys of past months with all that was remembered under them, an hour after each month's end. It also forgets which
 * accounts were refused.
 */
export async function forgetIdentities(pool: pg.Pool, now: number): Promise<void> {
  const month = monthOf(now - skewMs);
  await pool.query('delete from grant_keys where month < $1', [month]);
  await pool.query('delete from monthly_grants where refused and amount_nusd = 0 and month < $1', [month]);
  await pool.query('update monthly_grants set refused = false where refused and month < $1', [month]);
}
