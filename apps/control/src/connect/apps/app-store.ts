import { randomBytes, randomUUID } from 'node:crypto';
import type { ActName } from '@sotto/contract/control/audit';
import type { AppAnswer, CreateApp, UpdateApp } from '@sotto/contract/control/connect';
import { hashSecret } from '@sotto/state';
import type pg from 'pg';
import { keepAccount, type NoAccount } from '../../accounts/keep-account.ts';
import { byAccount, byApp, recordAct } from '../../audit-log/record-act.ts';
import type { SqlRow } from '../../database/columns.ts';
import type { connectApps } from '../../database/connect-schema.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { type Refused, refused } from '../../database/refused.ts';
import { type AtMaximum, atMaximum, type Creation } from '../../limits/maximum.ts';
import { byCreation, oldestFirst, type PageQuery } from '../../serve/page-cursor.ts';
import { endGrants } from '../grants/end-grants.ts';

type Row = Omit<SqlRow<typeof connectApps>, 'account_id' | 'secret_hash' | 'disabled_at'>;

const columns =
  'id, name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes, created_at, secret_created_at';

const newSecret = (): string => `sotto_app_${randomBytes(32).toString('base64url')}`;

/** An app after a change, and the keys of the grants that the change ended. */
export interface ChangedApp {
  readonly app: AppAnswer;
  readonly keyIds: readonly string[];
}

/** Returns the enabled apps of an account, the oldest first. */
export function listApps(
  pool: pg.Pool,
  accountId: string,
  page: PageQuery,
): Promise<{ data: AppAnswer[]; next_cursor: string | null }> {
  const select = `select ${columns} from connect_apps where account_id = $1 and disabled_at is null`;
  const list = { select, values: [accountId], at: 'created_at', id: 'id' };
  return oldestFirst<Row, AppAnswer>(pool, list, page, byCreation(toAnswer));
}

/** Registers an app. The answer contains the secret of a confidential app, which is not stored. */
export async function createApp(
  pool: pg.Pool,
  { accountId, maxima }: Creation,
  asked: CreateApp,
): Promise<AppAnswer | Refused<AtMaximum | NoAccount>> {
  return inTransaction(pool, async (client) => {
    if (!(await keepAccount(client, accountId))) return refused('no_account');
    const full = await atMaximum(client, 'apps', { accountId, maxima });
    if (full !== undefined) return full;
    const secret = asked.type === 'confidential' ? newSecret() : undefined;
    const { rows } = await client.query<Row>(
      `insert into connect_apps (id, account_id, name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes,
         secret_hash, secret_created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, case when $9::text is null then null else now() end)
       returning ${columns}`,
      [
        randomUUID(),
        accountId,
        asked.name,
        asked.homepage,
        asked.type,
        JSON.stringify(asked.redirect_uris),
        JSON.stringify(asked.post_logout_redirect_uris ?? []),
        JSON.stringify(asked.scopes),
        secret === undefined ? null : hashSecret(secret),
      ],
    );
    return withSecret(one(rows), secret);
  });
}

/** An app and the account that claims to own it. */
export interface OfApp {
  readonly accountId: string;
  readonly appId: string;
}

type NoApp = { readonly why: 'no_app' };

/** Changes the given fields. A different set of redirect URIs ends the app's grants. */
export async function changeApp(pool: pg.Pool, of: OfApp, change: UpdateApp): Promise<ChangedApp | Refused<NoApp>> {
  return inTransaction(pool, async (client) => {
    const before = await lockApp(client, of);
    if (before === undefined) return refused('no_app');
    const { rows } = await client.query<Row>(
      `update connect_apps set name = coalesce($2, name), homepage = coalesce($3, homepage),
         redirect_uris = coalesce($4::jsonb, redirect_uris),
         post_logout_redirect_uris = coalesce($5::jsonb, post_logout_redirect_uris),
         scopes = coalesce($6::jsonb, scopes)
       where id = $1 returning ${columns}`,
      [
        of.appId,
        change.name ?? null,
        change.homepage ?? null,
        jsonOrNull(change.redirect_uris),
        jsonOrNull(change.post_logout_redirect_uris),
        jsonOrNull(change.scopes),
      ],
    );
    const app = toAnswer(one(rows));
    const redirectsStay = sameSet(before.redirect_uris, app.redirect_uris);
    return { app, keyIds: redirectsStay ? [] : await endGrants(client, { appId: of.appId }, byApp) };
  });
}

/** Replaces the secret of an app. The old secret and all grants end at once. A public app does not have one. */
export async function rotateSecret(
  pool: pg.Pool,
  of: OfApp,
): Promise<ChangedApp | Refused<NoApp | { readonly why: 'public' }>> {
  return inTransaction(pool, async (client) => {
    const app = await lockApp(client, of);
    if (app === undefined) return refused('no_app');
    if (app.type === 'public') return refused('public');
    const secret = newSecret();
    const { rows } = await client.query<Row>(
      `update connect_apps set secret_hash = $2, secret_created_at = now() where id = $1 returning ${columns}`,
      [of.appId, hashSecret(secret)],
    );
    await recordChange(client, of, 'app_secret_rotated');
    return { app: withSecret(one(rows), secret), keyIds: await endGrants(client, { appId: of.appId }, byApp) };
  });
}

/** Disables an app for good and ends its grants. Returns the ids of their keys. */
export async function disableApp(pool: pg.Pool, of: OfApp): Promise<readonly string[] | Refused<NoApp>> {
  return inTransaction(pool, async (client) => {
    if ((await lockApp(client, of)) === undefined) return refused('no_app');
    await client.query('update connect_apps set disabled_at = now() where id = $1', [of.appId]);
    await recordChange(client, of, 'app_disabled');
    return endGrants(client, { appId: of.appId }, byApp);
  });
}

/** Disables all apps of a user's account, within the caller's transaction. Returns the ids of their grants' keys. */
export async function disableApps(client: pg.PoolClient, userId: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string; account_id: string }>(
    `update connect_apps set disabled_at = now() where disabled_at is null
       and account_id in (select id from accounts where user_id = $1) returning id, account_id`,
    [userId],
  );
  const keyIds: string[] = [];
  for (const { id: appId, account_id: accountId } of rows) {
    await recordChange(client, { accountId, appId }, 'app_disabled');
    keyIds.push(...(await endGrants(client, { appId }, byApp)));
  }
  return keyIds;
}

const recordChange = (client: pg.PoolClient, { accountId, appId }: OfApp, act: ActName): Promise<void> =>
  recordAct(client, { actor: byAccount(accountId), act, accountId, details: { app_id: appId } });

/** Locks an enabled app of an account, so that no grant is created for it until this transaction ends. */
async function lockApp(client: pg.PoolClient, { accountId, appId }: OfApp): Promise<Row | undefined> {
  const { rows } = await client.query<Row>(
    `select ${columns} from connect_apps where id = $1 and account_id = $2 and disabled_at is null for update`,
    [appId, accountId],
  );
  return rows[0];
}

function one(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error('the app was not written');
  return row;
}

const jsonOrNull = (list: readonly string[] | undefined): string | null =>
  list === undefined ? null : JSON.stringify(list);

const sameSet = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((entry) => right.includes(entry));

const withSecret = (row: Row, secret: string | undefined): AppAnswer =>
  secret === undefined ? toAnswer(row) : { ...toAnswer(row), client_secret: secret };

const toAnswer = (row: Row): AppAnswer => ({
  id: row.id,
  client_id: row.id,
  name: row.name,
  homepage: row.homepage,
  type: row.type,
  redirect_uris: row.redirect_uris,
  post_logout_redirect_uris: row.post_logout_redirect_uris,
  scopes: row.scopes,
  created_at: row.created_at.toISOString(),
  secret_created_at: row.secret_created_at?.toISOString() ?? null,
});
