import { type AppScope, appScopes, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { z } from 'zod';
import type { OidcProvider } from '../protocol/provider.ts';
import { artifactId } from '../protocol/sealed-payload.ts';

/** An app's request that waits for a person, as it was checked when it came. */
export interface AppRequest {
  readonly appId: string;
  readonly name: string;
  readonly homepage: string;
  readonly redirectUri: string;
  readonly scopes: readonly AppScope[];
  /** When it came, in seconds. */
  readonly askedAt: number;
  /** The app wants a sign-in that is not older than this, in seconds; undefined: any will do. */
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

/** Reads a request. Throws `conflict` where its app is gone or no longer sends people there, and `invalid_request` where it asks for nothing. */
export async function readAppRequest(
  provider: OidcProvider,
  interaction: Interaction,
  now: number,
): Promise<AppRequest> {
  const params = paramsSchema.parse(interaction.params);
  const client = await provider.Client.find(params.client_id);
  if (client === undefined || !client.redirectUriAllowed(params.redirect_uri)) {
    throw new ServiceError('conflict', {
      message: 'The app has changed since it asked. Go back to it and start again.',
    });
  }
  const asked = params.scope.split(' ');
  const allowed = client.scope?.split(' ') ?? [];
  const scopes = appScopes.filter((scope) => asked.includes(scope) && allowed.includes(scope));
  if (scopes.length === 0) {
    throw new ServiceError('invalid_request', {
      message: 'The app asks for nothing: its request has no scope that is known here.',
    });
  }
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

/** `prompt=login`: since it asked; `max_age`: not longer ago than that (OpenID Connect Core 3.1.2.1). */
function signedInSince(
  { prompt, max_age: maxAge }: { readonly prompt: string; readonly max_age?: number | undefined },
  askedAt: number,
  now: number,
): number | undefined {
  if (prompt.split(' ').includes('login')) return askedAt;
  return maxAge === undefined ? undefined : Math.min(askedAt, Math.floor(now / 1000) - maxAge);
}

/**
 * Ties a request to the first account that opens it. Throws `forbidden` to any other: what one person began, nobody else
 * ends in the same browser.
 */
export async function claimRequest(pool: pg.Pool, uid: string, accountId: string): Promise<void> {
  const { rows } = await pool.query<{ account_id: string }>(
    'update connect_artifacts set account_id = coalesce(account_id, $2) where id = $1 returning account_id',
    [artifactId('Interaction', uid), accountId],
  );
  if (rows[0]?.account_id === accountId) return;
  throw new ServiceError('forbidden', {
    message: 'Another account has opened this request. Go back to the app and start again.',
  });
}

/** Marks a request as answered, within the transaction of the answer where it has one; false where it was. */
export async function markAnswered(client: pg.Pool | pg.PoolClient, uid: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'update connect_artifacts set consumed_at = now() where id = $1 and consumed_at is null',
    [artifactId('Interaction', uid)],
  );
  return rowCount === 1;
}
