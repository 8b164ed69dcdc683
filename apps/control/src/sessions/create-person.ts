import { randomBytes } from 'node:crypto';
import { hashPassword } from 'better-auth/crypto';
import type pg from 'pg';
import { type AccountIds, insertAccount } from '../accounts/ensure-account.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { hashSessionToken } from './hashed-token-adapter.ts';

export interface NewPerson {
  readonly email: string;
  readonly name: string;
  /** Default: none. The person then sets one by a link. */
  readonly password?: string | undefined;
}

type CreatedPerson = AccountIds & { readonly userId: string };

/**
 * Creates a user with an account, whatever the sign-up policy says. The caller vouches for the address, so it counts as
 * verified. Returns undefined if the address has a user.
 */
export const createPerson = (pool: pg.Pool, person: NewPerson): Promise<CreatedPerson | undefined> =>
  inTransaction(pool, (client) => insertPerson(client, person));

/** Does the same in the caller's transaction. */
export async function insertPerson(
  client: pg.PoolClient,
  { email, name, password }: NewPerson,
): Promise<CreatedPerson | undefined> {
  const userId = newId();
  const hashed = password === undefined ? undefined : await hashPassword(password);
  const { rowCount } = await client.query(
    `insert into auth_user (id, name, email, email_verified) values ($1, $2, $3, true)
     on conflict (email) do nothing`,
    [userId, name, email.toLowerCase()],
  );
  if (rowCount === 0) return undefined;
  if (hashed !== undefined) {
    await client.query(
      `insert into auth_account (id, account_id, provider_id, user_id, password) values ($1, $2, 'credential', $2, $3)`,
      [newId(), userId, hashed],
    );
  }
  return { userId, ...(await insertAccount(client, { userId, name: email.toLowerCase() })) };
}

/** Gives a user who signs in by password another one. */
export async function setPassword(
  pool: pg.Pool,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  await pool.query(
    `update auth_account a set password = $2 from auth_user u
     where u.email = $1 and a.user_id = u.id and a.provider_id = 'credential'`,
    [email.toLowerCase(), await hashPassword(password)],
  );
}

/** Creates the token of a link to set a password, as better-auth stores it. It works once, for a day. */
export async function makePasswordLink(client: pg.PoolClient, userId: string, now: number): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await client.query('insert into auth_verification (id, identifier, value, expires_at) values ($1, $2, $3, $4)', [
    newId(),
    hashSessionToken(`reset-password:${token}`),
    userId,
    new Date(now + 24 * 60 * 60 * 1000),
  ]);
  return token;
}

const newId = (): string => randomBytes(24).toString('base64url');
