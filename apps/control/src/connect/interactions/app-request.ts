import { type AppScope, appScopes } from '@sotto/contract/control/app-scopes';
import type pg from 'pg';
import * as z from 'zod';
import { type Refused, refused } from '../../database/refused.ts';
import { artifactId } from '../protocol/artifact-store.ts';
import type { OidcProvider } from '../protocol/provider.ts';

/** An app's request that waits for a person's decision, checked when it arrived. */
export interface AppRequest {
  readonly appId: string;
  readonly name: string;
  readonly homepage: string;
  readonly redirectUri: string;
  readonly scopes: readonly AppScope[];
  /** Time of the request, in Unix seconds. */
  readonly askedAt: number;
  /** The app requires a sign-in at this time or later, in Unix seconds. Undefined: any sign-in will do. */
  readonly signedInSince: number | undefined;
}

export type Interaction = InstanceType<OidcProvider['Interaction']>;

const paramsSchema = z.object({
  client_id: z.string(),
  redirect_uri: z.string(),
  scope: z.string().default(''),
  prompt: z.string().default(''),
  max_age: z.coerce.number().optional(),
});

/**
 * Reads a request. `app_changed`: its app is disabled or no longer lists the redirect URI. `no_scope`: none of its scopes is
 * allowed.
 */
export async function readAppRequest(
  provider: OidcProvider,
  interaction: Interaction,
  now: number,
): Promise<AppRequest | Refused<{ readonly why: 'app_changed' } | { readonly why: 'no_scope' }>> {
  const params = paramsSchema.parse(interaction.params);
  const client = await provider.Client.find(params.client_id);
  if (client === undefined || !client.redirectUriAllowed(params.redirect_uri)) return refused('app_changed');
  const asked = params.scope.split(' ');
  const allowed = client.scope?.split(' ') ?? [];
  const scopes = appScopes.filter((scope) => asked.includes(scope) && allowed.includes(scope));
  if (scopes.length === 0) return refused('no_scope');
  return {
    appId: client.clientId,
    name: client.clientName ?? '',
    homepage: client.clientUri ?? '',
    redirectUri: params.redirect_uri,
    scopes,
    askedAt: interaction.iat,
    signedInSince: signedInSince(params, interaction.iat, now),
  };
}

/**
 * With `prompt=login`, the time of the request. With `max_age`, at most that many seconds ago (OpenID Connect Core
 * 3.1.2.1).
 */
function signedInSince(
  { prompt, max_age: maxAge }: { readonly prompt: string; readonly max_age?: number | undefined },
  askedAt: number,
  now: number,
): number | undefined {
  if (prompt.split(' ').includes('login')) return askedAt;
  return maxAge === undefined ? undefined : Math.min(askedAt, Math.floor(now / 1000) - maxAge);
}

/**
 * Binds a request to the first account that opens it. Returns false for any other account: another person at the same
 * browser must not finish it.
 */
export async function claimRequest(pool: pg.Pool, uid: string, accountId: string): Promise<boolean> {
  const { rows } = await pool.query<{ account_id: string }>(
    'update connect_artifacts set account_id = coalesce(account_id, $2) where id = $1 returning account_id',
    [artifactId('Interaction', uid), accountId],
  );
  return rows[0]?.account_id === accountId;
}

/**
 * Marks a request as answered, within the transaction of the answer if there is one. Returns false if it was answered
 * before.
 */
export async function markAnswered(client: pg.Pool | pg.PoolClient, uid: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'update connect_artifacts set consumed_at = now() where id = $1 and consumed_at is null',
    [artifactId('Interaction', uid)],
  );
  return rowCount === 1;
}
