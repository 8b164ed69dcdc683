import { appScopeSchema } from '@sotto/contract/control/connect';
import { generationOf } from '@sotto/state';
import { preferencesSchema } from '@sotto/wire';
import type pg from 'pg';
import * as z from 'zod';
import type { PresentedToken } from '../../credentials/presented-key.ts';
import type { SqlRow } from '../../database/columns.ts';
import type { connectArtifacts } from '../../database/connect-schema.ts';
import type { accounts, apiKeys, workspaces } from '../../database/schema.ts';
import { tagIdOf } from '../../ledger/tag-id.ts';
import { artifactId, openPayload } from '../protocol/artifact-store.ts';
import { isActiveGrant, joinedGrants } from './active-grant.ts';

type Row = SqlRow<typeof connectArtifacts, 'payload'> &
  SqlRow<typeof apiKeys, 'account_id' | 'workspace_id' | 'generation' | 'tag'> &
  SqlRow<typeof accounts, 'wallet_id'> &
  SqlRow<typeof workspaces, 'preferences' | 'version' | 'policy_models'> & {
    granted_by: string;
    grant_scopes: readonly string[];
    app_scopes: readonly string[];
    key_id: string;
    key_hash: string;
  };

const kind = 'AccessToken';
/** The form of oidc-provider's tokens: 256 bits, base64url. */
const shape = /^[\w-]{43}$/;
const payloadSchema = z.object({ scope: z.string().default('') });

/**
 * Returns the access token behind a bearer secret. Returns undefined for any other text, and for a token that has
 * expired, was revoked or whose grant has ended.
 */
export async function findAccessToken(pool: pg.Pool, secret: string): Promise<PresentedToken | undefined> {
  if (!shape.test(secret)) return undefined;
  const { rows } = await pool.query<Row>(
    `select t.payload, g.account_id as granted_by, g.scopes as grant_scopes, p.scopes as app_scopes, k.id as key_id,
       k.hash as key_hash, k.account_id, k.workspace_id, a.wallet_id, k.generation, k.tag, w.preferences, w.version, w.policy_models
     from ${joinedGrants} join connect_artifacts t on t.grant_id = g.id join accounts a on a.id = k.account_id
     join accounts person on person.id = g.account_id
     where t.id = $1 and t.expires_at > now() and ${isActiveGrant} and person.user_id is not null and person.disabled_at is null
       and a.disabled_at is null`,
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
      tagId: tagIdOf(row.workspace_id, row.tag),
      walletId: row.wallet_id,
      generation: generationOf(row.generation, Number(row.version)),
      preferences: preferencesSchema.parse(row.preferences),
      allowedModels: undefined,
      workspaceModels: row.policy_models ?? undefined,
      isWallet: false,
    },
  };
}
