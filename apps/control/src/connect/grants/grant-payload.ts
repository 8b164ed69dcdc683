import type { AdapterPayload } from 'oidc-provider';
import type pg from 'pg';
import { isUuid } from '../../database/uuid.ts';

interface Row {
  app_id: string;
  account_id: string;
  scopes: string[];
  app_scopes: string[];
  created_at: Date;
  expires_at: Date;
}

const seconds = (at: Date): number => Math.floor(at.getTime() / 1000);

/**
 * An active grant as oidc-provider reads it; undefined for one that has ended, however it did: its key was revoked, by
 * disconnecting or with its maker's membership or the workspace, its app was disabled, its time is over.
 */
export async function findGrantPayload(pool: pg.Pool, grantId: string): Promise<AdapterPayload | undefined> {
  if (!isUuid(grantId)) return undefined;
  const { rows } = await pool.query<Row>(
    `select g.app_id, g.account_id, g.scopes, p.scopes as app_scopes, g.created_at, g.expires_at
     from connect_grants g join api_keys k on k.id = g.key_id join connect_apps p on p.id = g.app_id
     where g.id = $1 and k.revoked_at is null and p.disabled_at is null and g.expires_at > now()`,
    [grantId],
  );
  const [row] = rows;
  return (
    row && {
      jti: grantId,
      kind: 'Grant',
      accountId: row.account_id,
      clientId: row.app_id,
      iat: seconds(row.created_at),
      exp: seconds(row.expires_at),
      // What the app may no longer ask for, it no longer has.
      openid: { scope: row.scopes.filter((scope) => row.app_scopes.includes(scope)).join(' ') },
    }
  );
}
