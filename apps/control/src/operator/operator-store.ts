import type pg from 'pg';
import { type Actor, recordAct } from '../audit-log/record-act.ts';
import { inTransaction } from '../database/in-transaction.ts';

interface Addressed {
  readonly email: string;
  readonly actor: Actor;
}

export type GrantOutcome = 'granted' | 'was operator' | 'no account' | 'unverified' | 'no second factor';

/**
 * Makes the user of an address an operator. The address must be verified, because a stranger may have signed up with it.
 * The user must have a second factor, because an operator who has none could add one by the password alone.
 */
export const grantOperator = (pool: pg.Pool, { email, actor }: Addressed): Promise<GrantOutcome> =>
  inTransaction(pool, async (client) => {
    const user = await findUser(client, email);
    if (user === undefined) return 'no account';
    if (!user.isVerified) return 'unverified';
    if (!user.hasFactor) return 'no second factor';
    const { rowCount } = await client.query(
      'insert into operators (user_id) values ($1) on conflict (user_id) do nothing',
      [user.userId],
    );
    if (rowCount === 0) return 'was operator';
    await recordAct(client, { actor, act: 'operator_granted', accountId: user.accountId });
    return 'granted';
  });

/** Takes the role away. False: the address has no operator. */
export const revokeOperator = (pool: pg.Pool, { email, actor }: Addressed): Promise<boolean> =>
  inTransaction(pool, async (client) => {
    const user = await findUser(client, email);
    if (user === undefined) return false;
    const { rowCount } = await client.query('delete from operators where user_id = $1', [user.userId]);
    if (rowCount === 0) return false;
    await recordAct(client, { actor, act: 'operator_revoked', accountId: user.accountId });
    return true;
  });

export async function listOperators(pool: pg.Pool): Promise<{ readonly email: string; readonly granted_at: Date }[]> {
  const { rows } = await pool.query<{ email: string; granted_at: Date }>(
    'select u.email, o.granted_at from operators o join auth_user u on u.id = o.user_id order by u.email',
  );
  return rows;
}

export async function findUser(client: pg.Pool | pg.PoolClient, email: string) {
  const { rows } = await client.query<{ userId: string; accountId: string; isVerified: boolean; hasFactor: boolean }>(
    `select u.id as "userId", a.id as "accountId", u.email_verified as "isVerified",
       u.two_factor_enabled or exists(select from auth_passkey p where p.user_id = u.id) as "hasFactor"
     from auth_user u join accounts a on a.user_id = u.id where u.email = $1`,
    [email],
  );
  return rows[0];
}
