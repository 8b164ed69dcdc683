import { type AppScope, appScopeSchema, preferencesSchema } from '@sotto/wire';
import type pg from 'pg';
import { z } from 'zod';
import type { PresentedKey } from '../../credentials/presented-key.ts';
import { artifactId, openPayload } from '../protocol/sealed-payload.ts';

/** An app's access token that was presented and found. */
export interface PresentedToken {
  /** What the person allowed, this token carries and the app may still ask for. */
  readonly scopes: ReadonlySet<AppScope>;
  /** Who allowed it. */
  readonly grantedBy: string;
  /** The key of its grant: what the token does is done with that. */
  readonly key: PresentedKey;
}

interface Row {
  payload: string;
  granted_by: string;
  grant_scopes: string[];
  app_scopes: string[];
  key_id: string;
  key_hash: string;
  account_id: string;
  workspace_id: string;
  wallet_id: string;
  generation: number;
  preferences: unknown;
}

const kind = 'AccessToken';
/** As oidc-provider makes them: 256 bits, base64url. */
const shape = /^[\w-]{43}$/;
const payloadSchema = z.object({ scope: z.string().default('') });

/** The token of a bearer; undefined for what is none, or one that has expired, was revoked or whose grant has ended. */
export async function findAccessToken(pool: pg.Pool, secret: string): Promise<PresentedToken | undefined> {
  if (!shape.test(secret)) return undefined;
  const { rows } = await pool.query<Row>(
    `select t.payload, g.account_id as granted_by, g.scopes as grant_scopes, p.scopes as app_scopes, k.id as key_id,
       k.hash as key_hash, k.account_id, k.workspace_id, a.wallet_id, k.generation, w.preferences
     from connect_artifacts t join connect_grants g on g.id = t.grant_id join connect_apps p on p.id = g.app_id
     join api_keys k on k.id = g.key_id join accounts a on a.id = k.account_id join workspaces w on w.id = k.workspace_id
     join accounts person on person.id = g.account_id
     where t.id = $1 and t.expires_at > now() and g.expires_at > now() and k.revoked_at is null
       and p.disabled_at is null and person.user_id is not null`,
    [artifactId(kind, secret)],
  );
  const [row] = rows;
  const payload = row && openPayload(kind, secret, row.payload);
  if (row === undefined || payload === undefined) return undefined;
  const carried = payloadSchema.parse(payload).scope.split(' ');
  const has = (scope: string): boolean => row.grant_scopes.includes(scope) && row.app_scopes.includes(scope);
  return {
    scopes: new Set(appScopeSchema.options.filter((scope) => carried.includes(scope) && has(scope))),
    grantedBy: row.granted_by,
    key: {
      keyId: row.key_id,
      keyHash: row.key_hash,
      kind: 'inference',
      accountId: row.account_id,
      workspaceId: row.workspace_id,
      walletId: row.wallet_id,
      generation: row.generation,
      preferences: preferencesSchema.parse(row.preferences),
    },
  };
}
