import { type KnownOrigins, type OriginName, ServiceError, wrongTurn } from '@sotto/wire';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendError } from './send-error.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Answers a request without a route: 405 if the path has other methods, or else 404, which says where the path is served. */
export function refuseUnknown(
  app: FastifyInstance,
  origin: { readonly name: OriginName; readonly known?: KnownOrigins } | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const path = request.url.split('?')[0] ?? '';
  const allowed = methods.filter(
    (method) => method !== request.method && app.findRoute({ url: path, method }) !== null,
  );
  if (allowed.length > 0) {
    reply.header('allow', allowed.join(', '));
    sendError(new ServiceError('method_not_allowed'), request, reply);
    return;
  }
  const serves = (url: string): boolean => methods.some((method) => app.findRoute({ url, method }) !== null);
  const message = origin && wrongTurn(path, origin.name, { serves, origins: origin.known ?? {} });
  sendError(new ServiceError('not_found', message === undefined ? {} : { message }), request, reply);
}
