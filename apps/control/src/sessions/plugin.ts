import { setTimeout as sleep } from 'node:timers/promises';
import type { Contract } from '@sotto/contract';
import { readJsonBody } from '@sotto/server';
import { assertStorable, maxAuthBytes, parseJson } from '@sotto/wire';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { atOnce } from './at-once.ts';
import { type Auth, authBasePath } from './auth.ts';
import { authContracts, readAuthBody } from './auth-requests.ts';
import { notingFailures } from './noted-failures.ts';
import { assertSameOrigin, foreignOrigin, isScripted } from './same-origin.ts';

/** Builds an error answer. `code` and `message` are undefined if better-auth gives none. */
export type ToEnvelope = (
  status: number,
  code: string | undefined,
  message: string | undefined,
  requestId: string,
) => { readonly status: number; readonly body: unknown };

export interface AuthRoutesOptions {
  readonly auth: Pick<Auth, 'handler'>;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  /** The origins whose pages may call with cookies. */
  readonly allowedOrigins: readonly string[];
  readonly toEnvelope: ToEnvelope;
  /**
   * Called for every answer of 500 or above and every error with a failure behind it, such as 401 because no session could be read.
   * Throws a better error if it knows one.
   */
  readonly onFailed?: (error: unknown) => Promise<void>;
  /**
   * Called for a request that better-auth answers with 401, with its path. Throws a better error if it knows the cause.
   */
  readonly onUnauthenticated?: (request: FastifyRequest, path: string) => Promise<void>;
  /** Called before better-auth, with the route and the body's fields. Throws to refuse the request. */
  readonly admit?: (request: FastifyRequest, route: Contract, body: object) => Promise<void>;
}

/**
 * Minimum time of an answer by path, in milliseconds. The work behind these paths takes a different time for addresses
 * with and without an account. The minimum is well above that time, so that timing does not reveal an account.
 */
const minimumMs: Readonly<Record<string, number>> = {
  '/sign-up/email': 400,
  '/request-password-reset': 250,
  '/change-email': 250,
};

/** Mounts better-auth under `/v1/auth`. Success bodies are its own; `toEnvelope` builds error bodies. */
export const authRoutes: FastifyPluginAsync<AuthRoutesOptions> = async (app, options) => {
  const { auth, origin, allowedOrigins, toEnvelope, onFailed, onUnauthenticated, admit } = options;

  const inTurn = atOnce(hashesAtOnce);
  const serve =
    (contract: Contract) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const startedAt = performance.now();
      const sendError = (status: number): FastifyReply => {
        const answer = toEnvelope(status, undefined, undefined, request.id);
        return reply.code(answer.status).send(answer.body);
      };
      const path = pathAndQuery(request.url).split('?', 1)[0]?.slice(authBasePath.length) ?? '';
      // better-auth's router treats some other spellings of a path as the same. Limits go by one spelling, so refuse
      // the others.
      if (!plainPath.test(path)) return sendError(404);
      if (!assertSameOrigin(request, allowedOrigins).ok) throw foreignOrigin();
      assertStorable(request.query, 'The query');
      // Parse the body once, so that better-auth reads the same fields that limits are counted by.
      const body = readAuthBody(contract, hasBody(request) ? readJsonBody(request.body) : {});
      await admit?.(request, contract, body);
      let failure: unknown;
      const ask = async (): Promise<Response> => {
        const asked = await notingFailures(() =>
          auth.handler(toWebRequest(request, { origin, body })).catch((error: unknown) => {
            // The message may contain SQL parameters, and so an email address. Log only the name.
            request.log.error({ error: error instanceof Error ? error.name : typeof error }, 'auth_failed');
            failure = error;
            return new Response(null, { status: 500 });
          }),
        );
        failure = asked.failure ?? failure;
        return asked.result;
      };
      const answer = async (): Promise<Response> => {
        const first = await ask();
        return isTakenMeanwhile(path, first) ? ask() : first;
      };
      const response = await (contract.limits === undefined ? answer() : inTurn(answer));
      const leftMs = (minimumMs[path] ?? 0) - (performance.now() - startedAt);
      if (leftMs > 0) await sleep(leftMs);
      if (response.status >= 500 || (response.status >= 400 && failure !== undefined)) await onFailed?.(failure);
      if (response.status === 401) await onUnauthenticated?.(request, path);
      return sendWebResponse(response, { request, reply, toEnvelope });
    };
  for (const { method, path, contract } of authContracts)
    app.route({ method, url: path, bodyLimit: maxAuthBytes, handler: serve(contract) });
};

/**
 * Whether a simultaneous sign-up took the address before this one was stored. A second attempt is answered like every
 * sign-up with a known address. Otherwise two simultaneous requests would reveal whether an address is new.
 */
const isTakenMeanwhile = (path: string, { status }: Response): boolean => path === '/sign-up/email' && status === 422;

/**
 * Most of these requests hash a password, which keeps a core busy for a tenth of a second, and a sign-up holds a database connection
 * meanwhile. More at once would only wait for a connection until they fail.
 */
const hashesAtOnce = { running: 16, waiting: 128 } as const;

const plainPath = /^(?:\/[A-Za-z0-9_-]+)+$/;

/** An allow-list: forwarded addresses and hosts must never reach better-auth. */
const passedHeaders = [
  'content-type',
  'cookie',
  'origin',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'user-agent',
] as const;

const hasBody = ({ method, body }: FastifyRequest): boolean =>
  !isRead(method) && Buffer.isBuffer(body) && body.length > 0;

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

function toWebRequest(
  request: FastifyRequest,
  { origin, body }: { readonly origin: string; readonly body: object },
): Request {
  const headers = new Headers();
  for (const name of passedHeaders) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  // better-auth refuses a request that has a cookie or `sec-fetch-mode` (as Node's fetch sends it) but no origin. If
  // the request shows that no page of another site sent it, set our origin. Then better-auth's routes and our own
  // follow one rule.
  if (!isRead(request.method) && isScripted(request)) headers.set('origin', origin);

  // Treat a request without a body as one without fields: hooks read `ctx.body` before better-auth checks it.
  if (!isRead(request.method) && !hasBody(request)) headers.set('content-type', 'application/json');

  return new Request(`${origin}${pathAndQuery(request.url)}`, {
    // better-auth does not support HEAD. The server omits the body when it answers a HEAD request.
    method: isRead(request.method) ? 'GET' : request.method,
    headers,
    body: isRead(request.method) ? null : JSON.stringify(body),
  });
}

/**
 * Returns path and query of a request target in origin or absolute form. Drops the host of the absolute form, which the
 * client chooses.
 */
function pathAndQuery(target: string): string {
  if (target.startsWith('/')) return target;
  const url = URL.parse(target);
  return url === null ? '/' : `${url.pathname}${url.search}`;
}

const betterAuthErrorSchema = z.object({ code: z.string().optional(), message: z.string().optional() });

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly toEnvelope: ToEnvelope;
}

async function sendWebResponse(response: Response, { request, reply, toEnvelope }: Exchange): Promise<FastifyReply> {
  const isError = response.status >= 400;
  for (const [name, value] of response.headers) {
    if (name === 'set-cookie' || name === 'content-length' || (isError && name === 'content-type')) continue;
    reply.header(name, value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) reply.header('set-cookie', cookies);
  reply.header('cache-control', 'no-store');

  if (!isError) return reply.code(response.status).send(Buffer.from(await response.arrayBuffer()));
  const said = betterAuthErrorSchema.safeParse(parseJson(await response.text())).data;
  const { status, body } = toEnvelope(response.status, said?.code, said?.message, request.id);
  return reply.code(status).send(body);
}
