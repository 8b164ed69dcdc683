import { randomUUID } from 'node:crypto';
import { createPerson } from '@sotto/control/testing';
import { until } from '@sotto/test-servers';
import type pg from 'pg';

export interface SignedUp {
  readonly email: string;
  readonly password: string;
  readonly accountId: string;
}

/** The password of all people whom tests sign up this way. */
export const password = 'correct horse battery';
/** The stored form of that password. Making one takes much CPU, so all people of a file share it. */
let stored: string | undefined;

/**
 * Leaves a person in the database as sign-up does, but at once and without a mail. Sign-up itself always takes the same time, so that
 * its time does not reveal an account.
 */
export async function signedUp(
  pool: pg.Pool,
  { email = `${randomUUID()}@people.example`, name = 'x', isVerified = false } = {},
): Promise<SignedUp> {
  const made = await createPerson(pool, { email, name, ...(stored === undefined ? { password } : {}) });
  if (made === undefined) throw new Error(`${email} has an account already`);
  const { userId, accountId } = made;
  if (stored === undefined) {
    const { rows } = await pool.query<{ password: string }>('select password from auth_account where user_id = $1', [
      userId,
    ]);
    stored = rows[0]?.password;
  } else {
    await pool.query(
      `insert into auth_account (id, account_id, provider_id, user_id, password) values ($1, $2, 'credential', $2, $3)`,
      [randomUUID(), userId, stored],
    );
  }
  await pool.query('update auth_user set email_verified = $2 where id = $1', [userId, isVerified]);
  const isProjected = async () =>
    (await pool.query('select 1 from accounts where id = $1 and projected_version >= version', [accountId])).rowCount;
  await until(async () => (await isProjected()) === 1, 'the account is projected');
  return { email, password, accountId };
}
