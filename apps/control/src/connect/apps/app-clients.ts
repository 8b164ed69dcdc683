import { timingSafeEqual } from 'node:crypto';
import { hashSecret } from '@sotto/state';
import type { AdapterPayload } from 'oidc-provider';
import type pg from 'pg';
import { isUuid } from '../../database/uuid.ts';

interface Row {
  id: string;
  name: string;
  homepage: string;
  type: 'confidential' | 'public';
  redirect_uris: string[];
  post_logout_redirect_uris: string[];
  scopes: string[];
  secret_hash: string | null;
}

/** An enabled app as oidc-provider knows a client. What stands for the secret there is its hash. */
export async function findClient(pool: pg.Pool, clientId: string): Promise<AdapterPayload | undefined> {
  if (!isUuid(clientId)) return undefined;
  const { rows } = await pool.query<Row>(
    `select id, name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes, secret_hash
     from connect_apps where id = $1 and disabled_at is null`,
    [clientId],
  );
  const [row] = rows;
  return (
    row && {
      client_id: row.id,
      client_name: row.name,
      client_uri: row.homepage,
      redirect_uris: row.redirect_uris,
      post_logout_redirect_uris: row.post_logout_redirect_uris,
      // Each app is a sector of its own, wherever its callbacks are; a name that is nowhere, and asked for by nobody.
      sector_identifier_uri: `https://${row.id}.invalid/`,
      scope: row.scopes.join(' '),
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      response_modes: ['query'],
      ...(row.secret_hash === null
        ? { token_endpoint_auth_method: 'none' }
        : { token_endpoint_auth_method: 'client_secret_basic', client_secret: row.secret_hash }),
    }
  );
}

/** Whether a secret is the one whose hash is kept. */
export function isSecretOf(kept: string | undefined, presented: string): boolean {
  const [expected, actual] = [Buffer.from(kept ?? ''), Buffer.from(hashSecret(presented))];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
