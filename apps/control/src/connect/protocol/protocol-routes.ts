import { errorHeaders, ServiceError } from '@sotto/wire';
import type { FastifyPluginAsync, HTTPMethods } from 'fastify';
import { limitByAddress } from '../../limits/rate-limits.ts';
import type { ProtocolKeeper } from './protocol-keeper.ts';
import { connectBasePath, protocolRoutes as paths } from './provider.ts';

const routes: readonly { readonly methods: HTTPMethods[]; readonly path: string; readonly config?: object }[] = [
  { methods: ['GET', 'OPTIONS'], path: '/.well-known/openid-configuration' },
  { methods: ['GET', 'OPTIONS'], path: '/.well-known/oauth-authorization-server' },
  { methods: ['GET', 'OPTIONS'], path: paths.jwks },
  // Each call is a row until it is answered.
  { methods: ['GET'], path: paths.authorization, config: limitByAddress() },
  { methods: ['GET'], path: `${paths.authorization}/:uid` },
  { methods: ['POST', 'OPTIONS'], path: paths.token },
  { methods: ['GET', 'POST', 'OPTIONS'], path: paths.userinfo },
  { methods: ['POST', 'OPTIONS'], path: paths.revocation },
  { methods: ['POST', 'OPTIONS'], path: paths.introspection },
  { methods: ['GET'], path: paths.end_session },
  { methods: ['GET'], path: `${paths.end_session}/success` },
  { methods: ['POST'], path: `${paths.end_session}/confirm` },
];

/** The query of a request target, with its question mark. */
function queryOf(target: string): string {
  const at = target.indexOf('?');
  return at < 0 ? '' : target.slice(at);
}

export interface ProtocolRoutesOptions {
  readonly keeper: ProtocolKeeper;
  readonly onUnexpected: (error: unknown) => void;
}

/**
 * Mounts the protocol's endpoints. Each is a route here, so that limits, logs and 404s are as everywhere; what answers is
 * the library, and what fails before it is said in OAuth's shape, too (RFC 6749, 5.2).
 */
export const protocolRoutes: FastifyPluginAsync<ProtocolRoutesOptions> = async (app, { keeper, onUnexpected }) => {
  // The library reads bodies itself.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  app.setErrorHandler((error, _request, reply) => {
    const known = error instanceof ServiceError ? error : undefined;
    if (known === undefined) onUnexpected(error);
    const isPassing = known?.type === 'rate_limited' || known?.type === 'service_unavailable';
    return reply
      .code(known?.status ?? 500)
      .headers({ ...(known === undefined ? {} : errorHeaders(known)), 'cache-control': 'no-store' })
      .send({
        error: isPassing ? 'temporarily_unavailable' : known === undefined ? 'server_error' : 'invalid_request',
        error_description: known?.message ?? 'An internal error occurred.',
      });
  });

  for (const { methods, path, config = {} } of routes) {
    app.route({
      method: methods,
      url: `${connectBasePath}${path}`,
      config,
      handler: async (request, reply) => {
        const { uid = '' } = request.params as { uid?: string };
        const { handle } = await keeper.protocol();
        reply.hijack();
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) reply.raw.setHeader(name, value);
        }
        await handle(request.raw, reply.raw, `${path.replace(':uid', uid)}${queryOf(request.url)}`);
      },
    });
  }
};
