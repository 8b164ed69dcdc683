import type { Adapter, AdapterFactory, AdapterPayload, errors } from 'oidc-provider';
import { findClient } from '../apps/app-clients.ts';
import { type EndDependencies, endGrant } from '../grants/end-grants.ts';
import { findGrantPayload } from '../grants/grant-payload.ts';
import { ArtifactStore } from './artifact-store.ts';

export interface AdapterDependencies extends EndDependencies {
  /** The library's own error, which its token endpoint answers with `invalid_grant`. */
  readonly InvalidGrant: typeof errors.InvalidGrant;
}

/** Where oidc-provider keeps what it keeps. Clients and grants are our own tables; all else is an artifact. */
export const artifactAdapters =
  (deps: AdapterDependencies): AdapterFactory =>
  (kind) => {
    if (kind === 'Client') return { ...nothing, find: (id) => findClient(deps.pool, id) };
    if (kind !== 'Grant') return artifacts(deps, kind);
    return {
      ...nothing,
      find: (id) => findGrantPayload(deps.pool, id),
      // What the library does to a grant whose code or refresh token was used twice, or revoked.
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
      // Used twice at the same time is used twice: whoever of the two is the thief, the grant ends.
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
