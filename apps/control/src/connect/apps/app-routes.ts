import { readJsonBody } from '@sotto/http';
import { type AppAnswer, createAppSchema, parseRequest, ServiceError, updateAppSchema } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireSession, type SessionDependencies } from '../../credentials/session-credentials.ts';
import { projectKeys } from '../../projection/project-keys.ts';
import type { Projector } from '../../projection/projector.ts';
import { isUuid } from '../../workspaces/path-ids.ts';
import { changeApp, createApp, disableApp, listApps, type OfApp, rotateSecret, unknownApp } from './app-store.ts';

export interface AppRoutesDependencies {
  readonly sessions: SessionDependencies;
  readonly projector: Projector;
  /** The public control origin: no app may have what is there redirected to. */
  readonly origin: string;
}

interface ById {
  Params: { id: string };
}

/** `/v1/connect/apps` (interface 4.6): the apps that an account has registered. A secret is shown once. */
export function registerApps(app: FastifyInstance, { sessions, projector, origin }: AppRoutesDependencies): void {
  const { pool } = sessions;

  app.get('/v1/connect/apps', async (request, reply): Promise<{ data: AppAnswer[] }> => {
    const { accountId } = await requireSession(sessions, request);
    reply.header('cache-control', 'no-store');
    return { data: await listApps(pool, accountId) };
  });

  app.post('/v1/connect/apps', async (request, reply): Promise<AppAnswer> => {
    const { accountId } = await requireSession(sessions, request);
    const asked = parseRequest(createAppSchema, readJsonBody(request.body));
    refuseOwnAddresses(origin, asked);
    const made = await createApp(pool, accountId, asked);
    reply.code(201).header('cache-control', 'no-store');
    return made;
  });

  app.patch<ById>('/v1/connect/apps/:id', async (request, reply): Promise<AppAnswer> => {
    const { accountId } = await requireSession(sessions, request);
    const change = parseRequest(updateAppSchema, readJsonBody(request.body));
    refuseOwnAddresses(origin, change);
    const changed = await changeApp(pool, readApp(accountId, request.params.id), change);
    await projectKeys(projector, changed.keyIds);
    reply.header('cache-control', 'no-store');
    return changed.app;
  });

  app.post<ById>('/v1/connect/apps/:id/rotate-secret', async (request, reply): Promise<AppAnswer> => {
    const { accountId } = await requireSession(sessions, request);
    const changed = await rotateSecret(pool, readApp(accountId, request.params.id));
    await projectKeys(projector, changed.keyIds);
    reply.header('cache-control', 'no-store');
    return changed.app;
  });

  app.delete<ById>('/v1/connect/apps/:id', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    await projectKeys(projector, await disableApp(pool, readApp(accountId, request.params.id)));
    return reply.code(204).send();
  });
}

function readApp(accountId: string, appId: string): OfApp {
  if (!isUuid(appId)) throw unknownApp();
  return { accountId, appId };
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
