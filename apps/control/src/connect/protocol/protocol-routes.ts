import { errorHeaders, ServiceError } from '@sotto/wire';
import type { FastifyPluginAsync, HTTPMethods } from 'fastify';
import type { ControlEvents } from '../../events.ts';
import type { SessionSecrets } from '../../sessions/session-secrets.ts';
import { purgeKeys, readKeys } from './key-store.ts';
import {
  buildProtocol,
  connectBasePath,
  type Protocol,
  type ProviderDependencies,
  protocolRoutes as paths,
} from './provider.ts';

const routes: readonly { readonly methods: HTTPMethods[]; readonly path: string }[] = [
  { methods: ['GET', 'OPTIONS'], path: '/.well-known/openid-configuration' },
  { methods: ['GET', 'OPTIONS'], path: '/.well-known/oauth-authorization-server' },
  { methods: ['GET', 'OPTIONS'], path: paths.jwks },
  { methods: ['GET'], path: paths.authorization },
  { methods: ['GET'], path: `${paths.authorization}/:uid` },
  { methods: ['POST', 'OPTIONS'], path: paths.token },
  { methods: ['GET', 'POST', 'OPTIONS'], path: paths.userinfo },
  { methods: ['POST', 'OPTIONS'], path: paths.revocation },
  { methods: ['POST', 'OPTIONS'], path: paths.introspection },
  { methods: ['GET'], path: paths.end_session },
  { methods: ['GET'], path: `${paths.end_session}/success` },
  { methods: ['POST'], path: `${paths.end_session}/confirm` },
];

/** Returns the query of a request target, with its question mark. */
function queryOf(target: string): string {
  const at = target.indexOf('?');
  return at < 0 ? '' : target.slice(at);
}

export interface ProtocolRoutesOptions {
  readonly keeper: ProtocolKeeper;
  readonly onUnexpected: (error: unknown) => void;
}

/**
 * Mounts the protocol's endpoints. Each is a route of our server, so that its limits, logs and 404s apply. The library
 * answers. Errors before that have OAuth's form, too (RFC 6749, 5.2).
 */
export const protocolRoutes: FastifyPluginAsync<ProtocolRoutesOptions> = async (app, { keeper, onUnexpected }) => {
  // The library reads the bodies itself.
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

  for (const { methods, path } of routes) {
    app.route({
      method: methods,
      url: `${connectBasePath}${path}`,
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

export interface ProtocolKeeperDependencies extends Omit<ProviderDependencies, 'onFailure'> {
  readonly sessionSecrets: SessionSecrets;
  readonly events: Pick<ControlEvents, 'connectFailed'>;
  readonly now: () => number;
}

/**
 * Builds the protocol with the keys in force, and rebuilds it when they change. All processes read the same keys from
 * Postgres.
 */
export class ProtocolKeeper {
  readonly #deps: ProtocolKeeperDependencies;
  #current: { readonly fingerprint: string; readonly protocol: Protocol } | undefined;

  constructor(deps: ProtocolKeeperDependencies) {
    this.#deps = deps;
  }

  /** Throws if it was never built and the database cannot be reached. */
  async protocol(): Promise<Protocol> {
    return this.#current?.protocol ?? this.refresh();
  }

  /** Reads the keys, creates those that are due, and rebuilds the protocol if they have changed. */
  async refresh(): Promise<Protocol> {
    const { pool, sessionSecrets, events, now } = this.#deps;
    const keys = await readKeys(pool, sessionSecrets, now());
    if (this.#current?.fingerprint === keys.fingerprint) return this.#current.protocol;
    const onFailure = (error: unknown): void => events.connectFailed(error);
    const protocol = await buildProtocol({ ...this.#deps, onFailure }, keys);
    this.#current = { fingerprint: keys.fingerprint, protocol };
    return protocol;
  }

  async purge(): Promise<void> {
    await purgeKeys(this.#deps.pool, this.#deps.sessionSecrets, this.#deps.now());
  }
}
