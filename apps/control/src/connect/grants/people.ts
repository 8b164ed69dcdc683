import { randomBytes } from 'node:crypto';
import type { Account } from 'oidc-provider';
import type pg from 'pg';

/** The person behind an account, as far as their scopes tell an app; undefined where nobody signs in to it any more. */
export async function findPerson(pool: pg.Pool, accountId: string): Promise<Account | undefined> {
  const { rows } = await pool.query<{ email: string; email_verified: boolean }>(
    'select u.email, u.email_verified from accounts a join auth_user u on u.id = a.user_id where a.id = $1',
    [accountId],
  );
  const [person] = rows;
  if (person === undefined) return undefined;
  const { email, email_verified } = person;
  return { accountId, claims: async () => ({ sub: accountId, email, email_verified }) };
}

/** Who is meant, and whose app asks. */
interface Known {
  readonly appId: string;
  readonly accountId: string;
}

/** The name under which an app knows an account: made at the first time, the same ever after. */
export async function subjectOf(pool: pg.Pool, { appId, accountId }: Known): Promise<string> {
  const { rows } = await pool.query<{ subject: string }>(
    `with made as (
       insert into connect_subjects (app_id, account_id, subject) values ($1, $2, $3)
       on conflict (app_id, account_id) do nothing returning subject)
     select subject from made union all
     select subject from connect_subjects where app_id = $1 and account_id = $2`,
    [appId, accountId, randomBytes(16).toString('base64url')],
  );
  const [row] = rows;
  // Another process has just made it, after this statement began.
  return row === undefined ? subjectOf(pool, { appId, accountId }) : row.subject;
}
