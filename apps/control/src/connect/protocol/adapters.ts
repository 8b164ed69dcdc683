import { timingSafeEqual } from 'node:crypto';
import { hashSecret } from '@sotto/state';
import type { Adapter, AdapterFactory, AdapterPayload, errors } from 'oidc-provider';
import type pg from 'pg';
import type { SqlRow } from '../../database/columns.ts';
import type { connectApps, connectGrants } from '../../database/connect-schema.ts';
import { isUuid } from '../../database/is-uuid.ts';
import { grantExpiry, isActiveGrant, isUsableApp, joinedApps, joinedGrants } from '../grants/active-grant.ts';
import { type EndDependencies, endGrant } from '../grants/end-grants.ts';
import { ArtifactStore } from './artifact-store.ts';

export interface AdapterDependencies extends EndDependencies {
  /** oidc-provider's own error, which its token endpoint answers with `invalid_grant`. */
  readonly InvalidGrant: typeof errors.InvalidGrant;
}

/** The storage of oidc-provider. Clients and grants are our own tables; everything else is an artifact. */
export const artifactAdapters =
  (deps: AdapterDependencies): AdapterFactory =>
  (kind) => {
    if (kind === 'Client') return { ...nothing, find: (id) => findClient(deps.pool, id) };
    if (kind !== 'Grant') return artifacts(deps, kind);
    return {
      ...nothing,
      find: (id) => findGrantPayload(deps.pool, id),
      // The library calls this for a grant whose code or refresh token was used twice or revoked.
      destroy: (id) => endGrant(deps, id),
    };
  };

function artifacts(deps: AdapterDependencies, kind: string): Adapter {
  const store = new ArtifactStore(deps.pool, kind);
  return {
    ...nothing,
    upsert: (id, payload) => store.put(id, payload),
    find: (id) => store.find(id),
    async consume(id) {
      if (await store.consume(id)) return;
      // Two simultaneous uses: one of them may be a thief, so end the grant.
      const grantId = (await store.find(id))?.grantId;
      if (typeof grantId === 'string') await endGrant(deps, grantId);
      throw new deps.InvalidGrant('already used');
    },
    destroy: (id) => store.remove(id),
    revokeByGrantId: (grantId) => store.removeOfGrant(grantId),
  };
}

const refuse = async (): Promise<never> => {
  throw new Error('not a way in which this is kept');
};

const nothing: Adapter = {
  upsert: refuse,
  find: refuse as (id: string) => Promise<AdapterPayload | undefined>,
  findByUserCode: refuse,
  findByUid: refuse,
  consume: refuse,
  destroy: refuse,
  revokeByGrantId: refuse,
};

type AppRow = Omit<SqlRow<typeof connectApps>, 'account_id' | 'secret_created_at' | 'created_at' | 'disabled_at'>;

/** Returns a usable app in oidc-provider's form of a client. Its `client_secret` is the hash of the secret. */
async function findClient(pool: pg.Pool, clientId: string): Promise<AdapterPayload | undefined> {
  if (!isUuid(clientId)) return undefined;
  const { rows } = await pool.query<AppRow>(
    `select p.id, p.name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes, secret_hash
     from ${joinedApps} where p.id = $1 and ${isUsableApp}`,
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
      // Make each app its own sector, whatever hosts its callbacks use. The name does not exist and is never fetched.
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

/** Whether the stored hash is that of the presented secret. */
export function isSecretOf(kept: string | undefined, presented: string): boolean {
  const [expected, actual] = [Buffer.from(kept ?? ''), Buffer.from(hashSecret(presented))];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

type GrantRow = Omit<SqlRow<typeof connectGrants>, 'id' | 'key_id'> & { app_scopes: readonly string[] };

const seconds = (at: Date): number => Math.floor(at.getTime() / 1000);

/** Returns an active grant in oidc-provider's form, or undefined if it has ended. */
async function findGrantPayload(pool: pg.Pool, grantId: string): Promise<AdapterPayload | undefined> {
  if (!isUuid(grantId)) return undefined;
  const { rows } = await pool.query<GrantRow>(
    `select g.app_id, g.account_id, g.scopes, p.scopes as app_scopes, g.created_at,
       ${grantExpiry} as expires_at
     from ${joinedGrants} where g.id = $1 and ${isActiveGrant}`,
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
      // Leave out scopes that the app may not request any more.
      openid: { scope: row.scopes.filter((scope) => row.app_scopes.includes(scope)).join(' ') },
    }
  );
}
