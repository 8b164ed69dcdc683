import type { AnswerOf, BodyOf, Contract, Contracts, ParamsOf, QueryOf } from '@sotto/contract';
import { parseRequest } from '@sotto/wire';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { PublicAnswers } from '../answers/public-answer.ts';
import { readJsonBody } from '../json-body.ts';

/** The arguments of a handler: what its contract names, checked and parsed, and Fastify's request and reply. */
export interface RouteCall<Route> {
  readonly params: ParamsOf<Route>;
  readonly query: QueryOf<Route>;
  readonly body: BodyOf<Route>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** An answer. A handler that sends another format, such as CSV, returns its reply. So does each one that writes the answer itself. */
export type Answer<Route> = Route extends { readonly isRaw: true } ? FastifyReply : AnswerOf<Route> | FastifyReply;

/** A handler, or a handler with further options of its route, such as hooks. */
export type Served<Handler> = Handler | (RouteShorthandOptions & { readonly handler: Handler });

type Handlers<Routes extends Contracts> = {
  readonly [Key in keyof Routes]: Served<(exchange: RouteCall<Routes[Key]>) => Promise<Answer<Routes[Key]>>>;
};

export type AnyHandlers = Readonly<Record<string, Served<(call: never) => Promise<unknown>> | undefined>>;

/** What a plane does for all its routes. Each function throws the error of what it rejects. */
export interface Plane {
  /** Returns the function that reads the caller of a route. Handlers of a plane without it read credentials themselves. */
  readonly callerReader?: (key: string, contract: Contract) => (request: FastifyRequest) => Promise<unknown>;
  readonly readParams?: (
    contract: Contract,
    given: Readonly<Record<string, string>>,
  ) => Readonly<Record<string, string>>;
  /** Rejects a value that the plane cannot keep. `what` names the part of the request. */
  readonly assertKeepable?: (value: unknown, what: string) => void;
  readonly optionsOf?: (contract: Contract) => RouteShorthandOptions;
}

/**
 * Registers routes whose handlers read credentials themselves: `serveRoutes(app)(receiptContracts)({ 'GET /v1/…': async () => … })`. The
 * function is curried so that the literals of a contract keep their types.
 */
export const serveRoutes =
  (app: FastifyInstance, plane: Plane = {}) =>
  <Routes extends Contracts>(routes: Routes) =>
  (handlers: Handlers<Routes>): void =>
    registerRoutes(app, routes, handlers, plane);

/**
 * Registers routes by their contracts. For each request it reads the caller, then parameters, query and body, and throws the error of the
 * first invalid one. Answers are `no-store` unless the contract says otherwise.
 */
export function registerRoutes(app: FastifyInstance, routes: Contracts, handlers: AnyHandlers, plane: Plane): void {
  const publicAnswers = new PublicAnswers();
  for (const [key, contract] of Object.entries(routes)) {
    const served = handlers[key];
    if (served === undefined) throw new Error(`${key} has no handler`);
    const { handler, ...options } = typeof served === 'function' ? { handler: served } : served;
    const [method = '', path = ''] = key.split(' ');
    const handle = handler as (call: object) => Promise<unknown>;
    app.route({
      method,
      url: path.replace(/\{(\w+)\}/g, ':$1'),
      ...plane.optionsOf?.(contract),
      ...options,
      handler:
        contract.isRaw === true
          ? (request, reply) => handle({ request, reply })
          : answering({ key, contract, handle, publicAnswers }, plane),
    });
  }
}

interface ServedRoute {
  readonly key: string;
  readonly contract: Contract;
  readonly handle: (call: object) => Promise<unknown>;
  readonly publicAnswers: PublicAnswers;
}

function answering({ key, contract, handle, publicAnswers }: ServedRoute, plane: Plane) {
  const callerOf = plane.callerReader?.(key, contract);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const caller = await callerOf?.(request);
    const params = plane.readParams?.(contract, request.params as Readonly<Record<string, string>>) ?? {};
    const query = readQuery(contract, request, plane);
    const body = readBody(contract, request, plane);
    reply.code(contract.status ?? 200).header('cache-control', 'no-store');
    const answer = await handle({ caller, params, query, body, request, reply });
    if (contract.cache === 'public') {
      reply.headers(publicCache);
      return publicAnswers.of(key, answer as object).send(request, reply);
    }
    if (reply.sent) return reply;
    return contract.answer === undefined && answer !== reply ? reply.send() : answer;
  };
}

function readQuery({ query, parsesQuery }: Contract, request: FastifyRequest, plane: Plane): unknown {
  if (query === undefined) return undefined;
  plane.assertKeepable?.(request.query, 'The query');
  return parsesQuery === true ? request.query : parseRequest(query, request.query);
}

function readBody({ body: schema, parsesBody }: Contract, { body }: FastifyRequest, plane: Plane): unknown {
  if (schema === undefined || typeof schema === 'string') return undefined;
  const sent = readJsonBody(body);
  plane.assertKeepable?.(sent, 'The body');
  return parsesBody === true ? sent : parseRequest(schema, sent);
}

/** The headers of an answer that is the same for every caller. */
export const publicCache = {
  'cache-control': 'public, max-age=60, stale-while-revalidate=600',
  'access-control-allow-origin': '*',
};
