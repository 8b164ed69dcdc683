import { appContracts } from '@sotto/contract/control';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { projectKeys } from '../../projection/project-keys.ts';
import type { Projector } from '../../projection/projector.ts';
import type { Serve } from '../../serve/serve.ts';
import { changeApp, createApp, disableApp, listApps, rotateSecret } from './app-store.ts';

export interface AppRoutesDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  /** The public control origin: no app may have what is there redirected to. */
  readonly origin: string;
}

/** Serves the apps that an account has registered. A secret is shown once. */
export function serveApps(serve: Serve, { pool, projector, origin }: AppRoutesDependencies): void {
  serve(appContracts)({
    'GET /v1/connect/apps': async ({ caller }) => ({ data: await listApps(pool, caller.accountId) }),

    'POST /v1/connect/apps': ({ caller, body }) => {
      refuseOwnAddresses(origin, body);
      return createApp(pool, caller.accountId, body);
    },

    'PATCH /v1/connect/apps/{id}': async ({ caller: { accountId }, params, body }) => {
      refuseOwnAddresses(origin, body);
      const changed = await changeApp(pool, { accountId, appId: params.id }, body);
      await projectKeys(projector, changed.keyIds);
      return changed.app;
    },

    'POST /v1/connect/apps/{id}/rotate-secret': async ({ caller: { accountId }, params }) => {
      const changed = await rotateSecret(pool, { accountId, appId: params.id });
      await projectKeys(projector, changed.keyIds);
      return changed.app;
    },

    'DELETE /v1/connect/apps/{id}': async ({ caller: { accountId }, params }) => {
      await projectKeys(projector, await disableApp(pool, { accountId, appId: params.id }));
    },
  });
}

/** Whoever is sent on must leave: what comes back to this origin would be taken for its own. */
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
