import { randomBytes } from 'node:crypto';
import { hashPassword } from 'better-auth/crypto';
import type pg from 'pg';
import { type AccountIds, ensureAccount } from '../accounts/ensure-account.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { hashSessionToken } from './hashed-token-adapter.ts';

export interface NewPerson {
  readonly email: string;
  readonly name: string;
  /** Default: none. The person then sets one by a link. */
  readonly password?: string | undefined;
}

/**
 * Creates a user with an account, whatever the sign-up policy says. The caller vouches for the address, so it counts as
 * verified. Returns undefined if the address has a user.
 */
export async function createPerson(
  pool: pg.Pool,
  { email, name, password }: NewPerson,
): Promise<(AccountIds & { readonly userId: string }) | undefined> {
  const userId = newId();
  const hashed = password === undefined ? undefined : await hashPassword(password);
  const isNew = await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `insert into auth_user (id, name, email, email_verified) values ($1, $2, $3, true)
       on conflict (email) do nothing`,
      [userId, name, email.toLowerCase()],
    );
    if (rowCount === 0) return false;
    if (hashed !== undefined) {
      await client.query(
        `insert into auth_account (id, account_id, provider_id, user_id, password) values ($1, $2, 'credential', $2, $3)`,
        [newId(), userId, hashed],
      );
    }
    return true;
  });
  if (!isNew) return undefined;
  return { userId, ...(await ensureAccount(pool, { id: userId, name: email.toLowerCase() })) };
}

/** Creates the token of a link to set a password, as better-auth stores it. It works once, for a day. */
export async function makePasswordLink(pool: pg.Pool, userId: string, now: number): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await pool.query('insert into auth_verification (id, identifier, value, expires_at) values ($1, $2, $3, $4)', [
    newId(),
    hashSessionToken(`reset-password:${token}`),
    userId,
    new Date(now + 24 * 60 * 60 * 1000),
  ]);
  return token;
}

const newId = (): string => randomBytes(24).toString('base64url');
