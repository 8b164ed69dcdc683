import { setTimeout as sleep } from 'node:timers/promises';
import { readJsonBody } from '@sotto/http';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Auth } from './auth.ts';
import { authBasePath } from './auth-path.ts';
import { isScripted } from './same-origin.ts';

const bodyLimitBytes = 64 * 1024;

/** Makes the body of an error answer from what better-auth says. Code and message are absent where it says nothing. */
export type ToEnvelope = (
  status: number,
  code: string | undefined,
  message: string | undefined,
  requestId: string,
) => unknown;

export interface AuthRoutesOptions {
  readonly auth: Pick<Auth, 'handler'>;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  readonly toEnvelope: ToEnvelope;
  /** Told of every failure that better-auth does not explain; throws where it knows why. */
  readonly onFailed?: (error: unknown) => Promise<void>;
  /** Told of a request that better-auth finds to have no session, with its path; throws where it knows better. */
  readonly onUnauthenticated?: (request: FastifyRequest, path: string) => Promise<void>;
  /** Asked before better-auth is, with the path behind `/v1/auth` and the body's fields; throws what refuses the request. */
  readonly admit?: (request: FastifyRequest, path: string, body: object) => Promise<void>;
}

/**
 * What takes longer for an address that has an account than for one that has none, or the other way round, with the time
 * that both take at least, in milliseconds. Well above what the work itself takes.
 */
const steadyMs: Readonly<Record<string, number>> = {
  '/sign-up/email': 400,
  '/request-password-reset': 250,
  '/change-email': 250,
};

/** Mounts better-auth at `/v1/auth/*`. Success bodies are its own; error bodies are what `toEnvelope` makes of them. */
export const authRoutes: FastifyPluginAsync<AuthRoutesOptions> = async (app, options) => {
  const { auth, origin, toEnvelope, onFailed, onUnauthenticated, admit } = options;

  app.route({
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: `${authBasePath}/*`,
    bodyLimit: bodyLimitBytes,
    handler: async (request, reply) => {
      const startedAt = performance.now();
      const path = pathAndQuery(request.url).split('?', 1)[0]?.slice(authBasePath.length) ?? '';
      // Of a path that is spelled in another way the router would make the same; limits go by the one spelling.
      if (!plainPath.test(path)) return reply.code(404).send(toEnvelope(404, undefined, undefined, request.id));
      // Parsed here, once: what limits are counted by is what better-auth then reads.
      const body = hasBody(request) ? readJsonBody(request.body) : {};
      await admit?.(request, path, body);
      const ask = (): Promise<Response> =>
        auth.handler(toWebRequest(request, { origin, body })).catch((error: unknown) => {
          // The message may hold SQL parameters, and so an email address: only the name is logged.
          request.log.error({ error: error instanceof Error ? error.name : typeof error }, 'auth_failed');
          return new Response(null, { status: 500 });
        });
      const first = await ask();
      const response = isTakenMeanwhile(path, first) ? await ask() : first;
      const leftMs = (steadyMs[path] ?? 0) - (performance.now() - startedAt);
      if (leftMs > 0) await sleep(leftMs);
      if (response.status >= 500) await onFailed?.(response);
      if (response.status === 401) await onUnauthenticated?.(request, path);
      return sendWebResponse(response, { request, reply, toEnvelope });
    },
  });
};

/**
 * Whether a sign-up found its address taken only as it stored it, by another sign-up of the same moment. Asked again, it is
 * answered as every sign-up with a known address. Otherwise two requests at once would tell a new address from a known one.
 */
const isTakenMeanwhile = (path: string, { status }: Response): boolean => path === '/sign-up/email' && status === 422;

const plainPath = /^(?:\/[A-Za-z0-9_-]+)+$/;

/** An allow-list: forwarded addresses and hosts in particular never reach better-auth. */
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
  // better-auth refuses whatever has a cookie or `sec-fetch-mode` (Node's fetch) and no origin. Where the request shows
  // that no page of another site sent it, it gets ours, so that its routes and our own follow one rule.
  if (!isRead(request.method) && isScripted(request)) headers.set('origin', origin);

  return new Request(`${origin}${pathAndQuery(request.url)}`, {
    // The server leaves the body of an answer to HEAD out; better-auth knows no HEAD.
    method: isRead(request.method) ? 'GET' : request.method,
    headers,
    body: hasBody(request) ? JSON.stringify(body) : null,
  });
}

/** Of a request target in either form; the absolute form would bring a host of the client's choice. */
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
  reply.code(response.status);
  for (const [name, value] of response.headers) {
    if (name === 'set-cookie' || name === 'content-length' || (isError && name === 'content-type')) continue;
    reply.header(name, value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) reply.header('set-cookie', cookies);
  reply.header('cache-control', 'no-store');

  if (!isError) return reply.send(Buffer.from(await response.arrayBuffer()));
  const said = betterAuthErrorSchema.safeParse(parsedJson(await response.text())).data;
  return reply.send(toEnvelope(response.status, said?.code, said?.message, request.id));
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
