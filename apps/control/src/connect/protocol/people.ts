import { randomBytes } from 'node:crypto';
import type { Account, Configuration } from 'oidc-provider';
import type pg from 'pg';

/** What apps learn about people. Each app knows a person by a name of its own. */
export const people = (pool: pg.Pool): Configuration => ({
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  subjectTypes: ['pairwise'],
  sectorIdentifierUriValidate: () => false,
  pairwiseIdentifier: (_ctx, accountId, client) => subjectOf(pool, { appId: client.clientId, accountId }),
  findAccount: (_ctx, accountId) => findPerson(pool, accountId),
});

/**
 * Returns the person behind an account, with the claims that scopes can show an app. Undefined if the account does not
 * have a user any more or is disabled.
 */
async function findPerson(pool: pg.Pool, accountId: string): Promise<Account | undefined> {
  const { rows } = await pool.query<{ email: string; email_verified: boolean }>(
    'select u.email, u.email_verified from accounts a join auth_user u on u.id = a.user_id where a.id = $1 and a.disabled_at is null',
    [accountId],
  );
  const [person] = rows;
  if (person === undefined) return undefined;
  const { email, email_verified } = person;
  return { accountId, claims: async () => ({ sub: accountId, email, email_verified }) };
}

/** A person's account and the app that asks about it. */
interface Known {
  readonly appId: string;
  readonly accountId: string;
}

/** Returns the name under which an app knows an account. It is created at first use and never changes. */
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
  // Another process has just created it, after this statement began.
  return row === undefined ? subjectOf(pool, { appId, accountId }) : row.subject;
}
