import { parseJson, ServiceError } from '@sotto/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { isScripted } from '../sessions/same-origin.ts';

/** A request of a contract, with its parsed body. */
export interface PassedRequest {
  readonly request: FastifyRequest;
  readonly body: object | undefined;
}

/** An allow-list: forwarded addresses and hosts must never reach better-auth. */
const passedHeaders = [
  'cookie',
  'origin',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'user-agent',
] as const;

/**
 * Builds the request that better-auth gets. Its path is the one of the route, however the client spelled it, and its body has the fields
 * of the contract. `takesQuery`: it also gets the query, in which better-auth would otherwise read fields that no contract names.
 */
export function authRequest(
  { request, body = {} }: PassedRequest,
  { origin, takesQuery }: { readonly origin: string; readonly takesQuery: boolean },
): Request {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const headers = new Headers();
  for (const name of passedHeaders) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  // better-auth refuses a request that has a cookie or `sec-fetch-mode` (as Node's fetch sends it) but no origin. If
  // the request shows that no page of another site sent it, set our origin. Then better-auth's routes and our own
  // follow one rule.
  if (!isRead && isScripted(request)) headers.set('origin', origin);
  if (!isRead) headers.set('content-type', 'application/json');
  const [, query = ''] = takesQuery ? request.url.split(/\?(.*)/s) : [];
  const path = pathOf(request);
  const url = new URL(`${origin}${path}${query === '' ? '' : `?${query}`}`);
  // A parameter `..` would name another route.
  if (url.pathname !== path) throw new ServiceError('not_found');
  return new Request(url, {
    // better-auth does not support HEAD. The server omits the body when it answers a HEAD request.
    method: isRead ? 'GET' : request.method,
    headers,
    body: isRead ? null : JSON.stringify(body),
  });
}

function pathOf({ routeOptions: { url = '' }, params }: FastifyRequest): string {
  const given = params as Readonly<Record<string, string>>;
  return url.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(given[name] ?? ''));
}

/** Builds an error answer. `code` and `message` are undefined if better-auth gives none. */
export type ToEnvelope = (
  status: number,
  code: string | undefined,
  message: string | undefined,
  requestId: string,
) => { readonly status: number; readonly body: unknown };

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly toEnvelope: ToEnvelope;
}

const betterAuthErrorSchema = z.object({ code: z.string().optional(), message: z.string().optional() });

/** Sends better-auth's answer: its headers with every cookie, and its body, or the envelope of its error. */
export async function sendAuthAnswer(
  response: Response,
  { request, reply, toEnvelope }: Exchange,
): Promise<FastifyReply> {
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
