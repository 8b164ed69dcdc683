import { timingSafeEqual } from 'node:crypto';
import {
  patchedScimGroup,
  scimContracts,
  scimMediaType,
  scimUrns,
  scimUserBodySchema,
} from '@sotto/contract/control/scim';
import { bearerToken, repeat, serveRoutes, takeBodies, unsupportedType } from '@sotto/server';
import { hashSecret } from '@sotto/state';
import { assertStorable, errorHeaders, parseRequest, ServiceError } from '@sotto/wire';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import { isDatabaseUnavailable } from '../../database/failures.ts';
import { type ErrorsOf, orError, type Refused } from '../../database/refused.ts';
import type { Domain } from '../../domain.ts';
import { limitByAddress } from '../../limits/rate-limits.ts';
import { projectKeys } from '../../projection/project-keys.ts';
import type { Projector } from '../../projection/projector.ts';
import { notFound } from '../../serve/not-found.ts';
import { readParams } from '../../serve/read-params.ts';
import type { GroupRole } from '../../sessions/sign-in-settings.ts';
import { giveDueRoles, readDuePeople } from '../due-roles.ts';
import { applyPatch } from './apply-patch.ts';
import { scimConfig, scimResourceTypes, scimSchemas } from './describe-scim.ts';
import { ScimError } from './scim-error.ts';
import { changeGroup, createGroup, deleteGroup, listGroups, type NoPerson, readGroup } from './scim-groups.ts';
import {
  changeUser,
  createUser,
  deleteUser,
  listUsers,
  type NoResource,
  readUser,
  type ScimStore,
  type Taken,
  type Written,
} from './scim-users.ts';

export interface ScimDependencies {
  readonly pool: pg.Pool;
  readonly projector: Pick<Projector, 'keys'>;
  /** SCIM_TOKEN. */
  readonly token: string;
  readonly map: readonly GroupRole[];
  /** The public control origin. */
  readonly origin: string;
}

/** By address: a provider sends all its people and groups from a few, at first as fast as it can. */
const requestsAMinute = 6_000;

const dueRolesMs = 15_000;
const dueAtOnce = 100;

/** Serves SCIM 2.0, in a scope of its own: its media type and its errors differ from those of other routes. */
export const buildScim = (deps: ScimDependencies): Domain => ({
  async register({ app }) {
    await app.register(async (scope) => {
      takeBodies(scope, scimMediaType);
      scope.setErrorHandler((error: FastifyError, request, reply) => sendError(error, request, reply));
      serveScim(scope, deps);
    });
  },
  tasks: (failed) => [repeat(dueRolesMs, () => giveLeftRoles(deps), failed('group roles'))],
});

/** Gives the roles that a request could not give, because it failed or its process ended. Resolves to whether there may be more. */
async function giveLeftRoles({ pool, map, projector }: ScimDependencies): Promise<boolean> {
  const due = await readDuePeople(pool, dueAtOnce);
  const { keyIds, failure } = await giveDueRoles({ pool, map }, due);
  await projectKeys(projector, keyIds);
  if (failure !== undefined) throw failure;
  return due.length === dueAtOnce;
}

function serveScim(app: FastifyInstance, { pool, projector, token, map, origin }: ScimDependencies): void {
  const base = `${origin}/v1/scim/v2`;
  const store: ScimStore = { pool, map, base };
  const isToken = tokenCheck(token);
  const plane = {
    callerReader: () => async (request: FastifyRequest) => {
      if (!isToken(bearerToken(request)))
        throw new ServiceError('unauthenticated', {
          message: 'SCIM needs its token: `Authorization: Bearer <SCIM_TOKEN>`.',
        });
    },
    readParams,
    assertKeepable: assertStorable,
    optionsOf: () => ({ config: limitByAddress(requestsAMinute) }),
  };
  const found = (reply: FastifyReply, resource: object | Refused<Refusals>) => send(reply, orError(resource, refusals));
  const removed = async (reply: FastifyReply, keyIds: readonly string[] | Refused<Refusals>): Promise<FastifyReply> => {
    await projectKeys(projector, orError(keyIds, refusals));
    return reply.code(204).send();
  };
  const written = async (
    reply: FastifyReply,
    result: Written<{ readonly meta: { readonly location: string } }> | Refused<Refusals>,
  ): Promise<FastifyReply> => {
    const { resource, keyIds } = orError(result, refusals);
    await projectKeys(projector, keyIds);
    return send(reply.header('location', resource.meta.location), resource);
  };
  serveRoutes(app, plane)(scimContracts)({
    'GET /v1/scim/v2/ServiceProviderConfig': async ({ reply }) => send(reply, scimConfig(base)),
    'GET /v1/scim/v2/ResourceTypes': async ({ reply }) => send(reply, scimResourceTypes(base)),
    'GET /v1/scim/v2/Schemas': async ({ reply }) => send(reply, scimSchemas(base)),
    'GET /v1/scim/v2/Users': async ({ query, reply }) => send(reply, await listUsers(store, query)),
    'POST /v1/scim/v2/Users': async ({ body, reply }) => written(reply, await createUser(store, body)),
    'GET /v1/scim/v2/Users/{id}': async ({ params, reply }) => found(reply, await readUser(store, params.id)),
    'PUT /v1/scim/v2/Users/{id}': async ({ params, body, reply }) =>
      written(reply, await changeUser(store, params.id, () => body)),
    'PATCH /v1/scim/v2/Users/{id}': async ({ params, body: { Operations }, reply }) =>
      written(
        reply,
        await changeUser(store, params.id, (present) =>
          parseRequest(scimUserBodySchema, applyPatch(present, Operations)),
        ),
      ),
    'DELETE /v1/scim/v2/Users/{id}': async ({ params, reply }) => removed(reply, await deleteUser(store, params.id)),
    'GET /v1/scim/v2/Groups': async ({ query, reply }) => send(reply, await listGroups(store, query)),
    'POST /v1/scim/v2/Groups': async ({ body, reply }) => written(reply, await createGroup(store, body)),
    'GET /v1/scim/v2/Groups/{id}': async ({ params, query, reply }) =>
      found(reply, await readGroup(store, params.id, query)),
    'PUT /v1/scim/v2/Groups/{id}': async ({ params, body, reply }) =>
      written(reply, await changeGroup(store, params.id, () => body)),
    'PATCH /v1/scim/v2/Groups/{id}': async ({ params, body: { Operations }, reply }) =>
      written(
        reply,
        await changeGroup(store, params.id, (present) =>
          parseRequest(patchedScimGroup, applyPatch(present, Operations)),
        ),
      ),
    'DELETE /v1/scim/v2/Groups/{id}': async ({ params, reply }) => removed(reply, await deleteGroup(store, params.id)),
  });
}

type Refusals = NoResource | Taken | NoPerson;

const refusals: ErrorsOf<Refusals> = {
  no_resource: () => notFound('scimResource'),
  taken: ({ name }) => new ScimError('uniqueness', `Another resource has the name \`${name}\`.`),
  no_person: ({ id }) => new ScimError('invalidValue', `\`members\` has \`${id}\`, and there is no such person.`),
};

/** Returns a check of bearers that takes as long for every wrong one. */
function tokenCheck(token: string): (given: string | undefined) => boolean {
  const right = Buffer.from(hashSecret(token));
  return (given = '') => timingSafeEqual(Buffer.from(hashSecret(given)), right);
}

const send = (reply: FastifyReply, resource: object): FastifyReply =>
  reply.type(`${scimMediaType}; charset=utf-8`).send(JSON.stringify(resource));

/** Sends an error in the form of SCIM. An unexpected one goes on to the server's handler, which logs it. */
function sendError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = knownError(error, request);
  if (known === undefined) throw error;
  const { status } = known;
  const scimType = known instanceof ScimError ? known.scimType : status === 400 ? 'invalidValue' : undefined;
  return send(reply.code(status).headers({ ...errorHeaders(known), 'cache-control': 'no-store' }), {
    schemas: [scimUrns.error],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail: known.message,
  });
}

function knownError(error: FastifyError, { headers }: FastifyRequest): ServiceError | undefined {
  if (error instanceof ServiceError) return error;
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return unsupportedType(headers);
  return isDatabaseUnavailable(error) ? new ServiceError('service_unavailable') : undefined;
}
