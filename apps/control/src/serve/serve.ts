import type { Contract, Contracts } from '@sotto/contract';
import { type Answer, type AnyHandlers, type RouteCall, registerRoutes, type Served } from '@sotto/server';
import type { KeyKind } from '@sotto/state';
import { assertStorable } from '@sotto/wire';
import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import { type ApiCredentials, rememberKey, requireKey } from '../credentials/api-credentials.ts';
import type { PresentedKey } from '../credentials/presented-key.ts';
import {
  requireOperator,
  requireSession,
  type SessionDependencies,
  type SignedIn,
} from '../credentials/session-credentials.ts';
import { readParams } from './read-params.ts';

/** The caller, determined by the credentials that the route accepts. */
type CallerOf<Route> = Route extends { readonly readsCaller: true } | { readonly credentials: readonly [] }
  ? undefined
  : Route extends { readonly credentials: readonly ['session' | 'operator'] }
    ? SignedIn
    : PresentedKey;

/** The arguments of a handler: its caller, and everything that its contract names, checked and parsed. */
export interface Call<Route> extends RouteCall<Route> {
  readonly caller: CallerOf<Route>;
}

export type Handlers<Routes extends Contracts> = {
  readonly [Key in keyof Routes]: Served<(call: Call<Routes[Key]>) => Promise<Answer<Routes[Key]>>>;
};

export interface ServeDependencies {
  readonly sessions: SessionDependencies;
  readonly credentials: ApiCredentials;
  /** The `config` of routes with a limit of their own. */
  readonly limits: Readonly<Record<NonNullable<Contract['limit']>, FastifyContextConfig>>;
}

/** Serves the routes of a domain: `serve(keyContracts)({ 'GET /v1/keys': async ({ caller }) => … })`. */
export type Serve = <Routes extends Contracts>(routes: Routes) => (handlers: Handlers<Routes>) => void;

/**
 * Returns the function that registers routes by their contracts. It is curried so that the literals of a contract keep their types.
 */
export const serving =
  (app: FastifyInstance, deps: ServeDependencies): Serve =>
  (routes) =>
  (handlers) =>
    registerRoutes(app, routes, handlers as AnyHandlers, {
      callerReader: (key, contract) => callerReader(deps, key, contract),
      readParams,
      assertKeepable: assertStorable,
      optionsOf: ({ limit }) => (limit === undefined ? {} : { config: deps.limits[limit] }),
    });

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
