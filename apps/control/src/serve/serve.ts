import type { AnswerOf, BodyOf, Contract, Contracts, ParamsOf, QueryOf } from '@sotto/contract';
import { PublicAnswers, readJsonBody } from '@sotto/server';
import type { KeyKind } from '@sotto/state';
import { assertStorable, isStorable, parseRequest, ServiceError } from '@sotto/wire';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ApiCredentials, rememberKey, requireKey } from '../credentials/api-credentials.ts';
import type { PresentedKey } from '../credentials/presented-key.ts';
import {
  requireOperator,
  requireSession,
  type SessionDependencies,
  type SignedIn,
} from '../credentials/session-credentials.ts';
import { isUuid } from '../database/is-uuid.ts';
import { notFound } from './not-found.ts';

/** The caller, determined by the credentials that the route accepts. */
type CallerOf<Route> = Route extends { readonly readsCaller: true } | { readonly credentials: readonly [] }
  ? undefined
  : Route extends { readonly credentials: readonly ['session' | 'operator'] }
    ? SignedIn
    : PresentedKey;

/** The arguments of a handler: everything that its contract names, checked and parsed. */
export interface Call<Route> {
  readonly caller: CallerOf<Route>;
  readonly params: ParamsOf<Route>;
  readonly query: QueryOf<Route>;
  readonly body: BodyOf<Route>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** An answer. A handler that sends another format, such as CSV, returns its reply. */
type Answer<Route> = AnswerOf<Route> | FastifyReply;

/** A handler for each route. */
export type Handlers<Routes extends Contracts> = {
  readonly [Key in keyof Routes]: (call: Call<Routes[Key]>) => Promise<Answer<Routes[Key]>>;
};

/** The dependencies of all routes. */
export interface ServeDependencies {
  readonly sessions: SessionDependencies;
  readonly credentials: ApiCredentials;
  /** The `config` of routes with a limit of their own. */
  readonly limits: Readonly<Record<NonNullable<Contract['limit']>, FastifyContextConfig>>;
}

/** Serves the routes of a domain: `serve(keyContracts)({ 'GET /v1/keys': async ({ caller }) => … })`. */
export type Serve = <Routes extends Contracts>(routes: Routes) => (handlers: Handlers<Routes>) => void;

/**
 * Registers routes by their contracts. For each request it reads the credential, then parameters, query and body, and
 * throws the error of the first invalid one. Answers are `no-store` unless the contract says otherwise. The function is
 * curried so that the literals of a contract keep their types.
 */
export const serving =
  (app: FastifyInstance, deps: ServeDependencies): Serve =>
  (routes) =>
  (handlers) => {
    const publicAnswers = new PublicAnswers();
    const byKey: Readonly<Record<string, Handler | undefined>> = handlers;
    for (const [key, contract] of Object.entries(routes)) {
      const handler = byKey[key];
      if (handler === undefined) throw new Error(`${key} has no handler`);
      serveRoute(app, deps, { key, contract, handler, publicAnswers });
    }
  };

/** A handler of any route. */
type Handler = (call: never) => Promise<unknown>;

interface ServedRoute {
  readonly key: string;
  readonly contract: Contract;
  readonly handler: Handler;
  readonly publicAnswers: PublicAnswers;
}

function serveRoute(
  app: FastifyInstance,
  deps: ServeDependencies,
  { key, contract, handler, publicAnswers }: ServedRoute,
): void {
  const [method = '', path = ''] = key.split(' ');
  const callerOf = callerReader(deps, key, contract);
  app.route({
    method,
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    ...(contract.limit === undefined ? {} : { config: deps.limits[contract.limit] }),
    handler: async (request, reply) => {
      const caller = await callerOf(request);
      const params = readParams(contract, request.params as Readonly<Record<string, string>>);
      const query = readQuery(contract, request);
      const body = readBody(contract, request);
      reply.code(contract.status ?? 200).header('cache-control', 'no-store');
      const answer = await handler({ caller, params, query, body, request, reply } as never);
      if (contract.cache === 'public') {
        reply.headers(publicCache);
        return publicAnswers.of(key, answer as object).send(request, reply);
      }
      return contract.answer === undefined && answer !== reply ? reply.send() : answer;
    },
  });
}

function readQuery({ query, parsesQuery }: Contract, request: FastifyRequest): unknown {
  if (query === undefined) return undefined;
  assertStorable(request.query, 'The query');
  return parsesQuery === true ? request.query : parseRequest(query, request.query);
}

function readBody({ body: schema, parsesBody }: Contract, { body }: FastifyRequest): unknown {
  if (schema === undefined || typeof schema === 'string') return undefined;
  const sent = readJsonBody(body);
  assertStorable(sent, 'The body');
  return parsesBody === true ? sent : parseRequest(schema, sent);
}

/** The headers of an answer that is the same for every caller. */
const publicCache = {
  'cache-control': 'public, max-age=60, stale-while-revalidate=600',
  'access-control-allow-origin': '*',
};

const keyKinds: Readonly<Record<string, KeyKind>> = { inferenceKey: 'inference', managementKey: 'management' };

type CallerReader = (request: FastifyRequest) => Promise<SignedIn | PresentedKey | undefined>;

/**
 * Returns the function that authenticates a route’s caller. Throws if it cannot check the route’s credentials. Such a
 * route must set `readsCaller`.
 */
function callerReader(
  { sessions, credentials }: ServeDependencies,
  key: string,
  { credentials: taken, readsCaller, remembersCaller }: Contract,
): CallerReader {
  if (readsCaller === true || taken.length === 0) return async () => undefined;
  if (taken.every((credential) => credential === 'session')) return (request) => requireSession(sessions, request);
  if (taken.every((credential) => credential === 'operator')) return (request) => requireOperator(sessions, request);
  const kinds = taken.flatMap((credential) => keyKinds[credential] ?? []);
  if (kinds.length === 0 || taken.includes('session') || taken.includes('operator')) {
    throw new Error(`${key} takes credentials that \`serve\` does not check: ${taken.join(', ')}`);
  }
  const readKey = remembersCaller === true ? rememberKey : requireKey;
  return (request) => readKey(credentials, request, kinds);
}

/** Reads the parameters of a path. A malformed id and a text that nothing is called are `not_found`, as an unknown id is. */
function readParams({ params = {} }: Contract, given: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, { id, maxLength }]) => {
      const text = given[name] ?? '';
      if (id === undefined) {
        if (text.length > maxLength || !isStorable(text)) throw new ServiceError('not_found');
        return [name, text];
      }
      if (!isUuid(text)) throw notFound(id);
      return [name, text.toLowerCase()];
    }),
  );
}
