import { type Repeated, repeat } from '@sotto/http';
import type { FastifyInstance } from 'fastify';
import type pg from 'pg';
import type { Projector } from '../projection/projector.ts';
import type { Serve } from '../serve/serve.ts';
import { serveApps } from './apps/app-routes.ts';
import { serveGrants } from './grants/grant-routes.ts';
import { purgeConnect } from './grants/purge.ts';
import { serveInteractions } from './interactions/interaction-routes.ts';
import { ProtocolKeeper, type ProtocolKeeperDependencies } from './protocol/protocol-keeper.ts';
import { protocolRoutes } from './protocol/protocol-routes.ts';

export interface ConnectedAppsDependencies extends ProtocolKeeperDependencies {
  readonly projector: Projector;
}

/** Connected Apps (interface 1, 4.6), where the operator has switched it on. */
export interface ConnectedApps {
  register(app: FastifyInstance, pool: pg.Pool, serve: Serve): Promise<void>;
  /** What goes on beside the requests, for as long as there is a database. */
  tasks(failed: (task: string) => (error: unknown) => void): readonly Repeated[];
}

const keysMs = 30_000;
const purgeMs = 60_000;

export function buildConnectedApps(deps: ConnectedAppsDependencies): ConnectedApps {
  const keeper = new ProtocolKeeper(deps);
  const { origin, projector, now } = deps;
  return {
    async register(app, pool, serve) {
      serveApps(serve, { pool, projector, origin });
      serveGrants(serve, { pool, projector });
      const provider = async () => (await keeper.protocol()).provider;
      serveInteractions(serve, { pool, projector, provider, origin, now });
      await app.register(protocolRoutes, { keeper, onUnexpected: deps.events.connectFailed });
    },
    tasks: (failed) => [
      repeat(keysMs, () => keeper.refresh(), failed('connect keys')),
      repeat(
        purgeMs,
        async () => {
          await keeper.purge();
          return purgeConnect(deps);
        },
        failed('connect purge'),
      ),
    ],
  };
}
