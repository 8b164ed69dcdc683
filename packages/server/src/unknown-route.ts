import { type KnownOrigins, type OriginName, ServiceError, wrongTurn } from '@sotto/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteTable } from './route-table.ts';
import { sendError } from './send-error.ts';

/** Answers a request without a route: 405 if the path has other methods, or else 404, which says where the path is served. */
export function refuseUnknown(
  routes: RouteTable,
  origin: { readonly name: OriginName; readonly known?: KnownOrigins } | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const path = request.url.split('?')[0] ?? '';
  const allowed = routes.methodsOf(path).filter((method) => method !== request.method);
  if (allowed.length > 0) {
    reply.header('allow', allowed.join(', '));
    sendError(new ServiceError('method_not_allowed'), request, reply);
    return;
  }
  const serves = (url: string): boolean => routes.methodsOf(url).length > 0;
  const message = origin && wrongTurn(path, origin.name, { serves, origins: origin.known ?? {} });
  sendError(new ServiceError('not_found', message === undefined ? {} : { message }), request, reply);
}
