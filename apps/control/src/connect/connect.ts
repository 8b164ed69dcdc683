import type { Maxima } from '@sotto/contract';
import { appContracts, grantContracts } from '@sotto/contract/control/connect';
import { repeat } from '@sotto/server';
import { ServiceError } from '@sotto/wire';
import type { ApiCredentials } from '../credentials/api-credentials.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { orError } from '../database/refused.ts';
import type { Domain } from '../domain.ts';
import { maximumErrors } from '../limits/maximum-errors.ts';
import { projectKeys } from '../projection/project-keys.ts';
import { notFound } from '../serve/not-found.ts';
import type { Serve } from '../serve/serve.ts';
import { accessErrors, requireWorkspace } from '../workspaces/require-workspace.ts';
import { changeApp, createApp, disableApp, listApps, rotateSecret } from './apps/app-store.ts';
import { findAccessToken } from './grants/access-token.ts';
import { purgeConnect } from './grants/end-grants.ts';
import { disconnect, listGrants } from './grants/grant-store.ts';
import { serveInteractions } from './interactions/interaction-routes.ts';
import { ProtocolKeeper, type ProtocolKeeperDependencies, protocolRoutes } from './protocol/protocol-routes.ts';

/** Connected Apps (`docs/use/connected-apps.md`), if the operator has enabled them. */
export interface Connect extends Domain {
  readonly findAccessToken: NonNullable<ApiCredentials['findAccessToken']>;
}

const keysMs = 30_000;
const purgeMs = 60_000;

export interface ConnectDependencies extends ProtocolKeeperDependencies {
  readonly maxima: Maxima;
}

export function buildConnect(deps: ConnectDependencies): Connect {
  const keeper = new ProtocolKeeper(deps);
  const { pool, origin, projector, now } = deps;
  return {
    findAccessToken: (secret) => findAccessToken(pool, secret),
    async register({ app, serve }) {
      serveApps(serve, deps);
      serveGrants(serve, deps);
      const provider = async () => (await keeper.protocol()).provider;
      serveInteractions(serve, { pool, projector, provider, origin, maxima: deps.maxima, now });
      await app.register(protocolRoutes, { keeper, onUnexpected: deps.events.connectFailed });
    },
    tasks: (failed) => [
      repeat(keysMs, () => keeper.refresh(), failed('connect keys')),
      repeat(
        purgeMs,
        async () => {
          await keeper.purge();
          return purgeConnect(deps);
        },
        failed('connect purge'),
      ),
    ],
  };
}

/** Serves the grants that a person has given to apps, and revokes them. */
function serveGrants(serve: Serve, { pool, projector }: ProtocolKeeperDependencies): void {
  serve(grantContracts)({
    'GET /v1/connect/grants': async ({ caller: { accountId }, query: { workspace_id: workspaceId } }) => {
      if (workspaceId === undefined) return { data: await listGrants(pool, { accountId }) };
      await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
      return { data: await listGrants(pool, { workspaceId }) };
    },

    'DELETE /v1/connect/grants/{id}': async ({ caller: { accountId }, params }) => {
      const ended = await inTransaction(pool, (client) => disconnect(client, { accountId, grantId: params.id }));
      await projectKeys(projector, orError(ended, { ...accessErrors, no_grant: () => notFound('grant') }));
    },
  });
}

/** Serves the apps that an account has registered. A secret is returned only once. */
function serveApps(serve: Serve, { pool, projector, origin, maxima }: ConnectDependencies): void {
  serve(appContracts)({
    'GET /v1/connect/apps': ({ caller, query }) => listApps(pool, caller.accountId, query),

    'POST /v1/connect/apps': async ({ caller, body }) => {
      refuseOwnAddresses(origin, body);
      return orError(await createApp(pool, { accountId: caller.accountId, maxima }, body), {
        ...maximumErrors,
        no_account: () => new ServiceError('unauthenticated'),
      });
    },

    'PATCH /v1/connect/apps/{id}': async ({ caller: { accountId }, params, body }) => {
      refuseOwnAddresses(origin, body);
      const changed = orError(await changeApp(pool, { accountId, appId: params.id }, body), appErrors);
      await projectKeys(projector, changed.keyIds);
      return changed.app;
    },

    'POST /v1/connect/apps/{id}/rotate-secret': async ({ caller: { accountId }, params }) => {
      const changed = orError(await rotateSecret(pool, { accountId, appId: params.id }), appErrors);
      await projectKeys(projector, changed.keyIds);
      return changed.app;
    },

    'DELETE /v1/connect/apps/{id}': async ({ caller: { accountId }, params }) => {
      await projectKeys(projector, orError(await disableApp(pool, { accountId, appId: params.id }), appErrors));
    },
  });
}

const appErrors = {
  no_app: () => notFound('app'),
  public: () => new ServiceError('conflict', { message: 'A public app has no secret: PKCE protects its codes.' }),
};

/** Rejects redirects to this origin. A response that comes back to it would be taken for its own. */
function refuseOwnAddresses(
  origin: string,
  asked: { readonly [field in 'redirect_uris' | 'post_logout_redirect_uris']?: readonly string[] | undefined },
): void {
  for (const field of ['redirect_uris', 'post_logout_redirect_uris'] as const) {
    if (!asked[field]?.some((address) => new URL(address).origin === origin)) continue;
    throw new ServiceError('invalid_request', {
      message: `\`${field}\` must be at the app's own origin, not at ${origin}.`,
      param: field,
    });
  }
}
