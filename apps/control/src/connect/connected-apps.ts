import { type Repeated, repeat } from '@sotto/http';
import type { FastifyInstance } from 'fastify';
import type { SessionDependencies } from '../credentials/session-credentials.ts';
import type { Projector } from '../projection/projector.ts';
import { registerApps } from './apps/app-routes.ts';
import { registerGrants } from './grants/grant-routes.ts';
import { purgeConnect } from './grants/purge.ts';
import { registerInteractions } from './interactions/interaction-routes.ts';
import { ProtocolKeeper, type ProtocolKeeperDependencies } from './protocol/protocol-keeper.ts';
import { protocolRoutes } from './protocol/protocol-routes.ts';

export interface ConnectedAppsDependencies extends ProtocolKeeperDependencies {
  readonly projector: Projector;
}

/** Connected Apps (interface 1, 4.6), where the operator has switched it on. */
export interface ConnectedApps {
  register(app: FastifyInstance, sessions: SessionDependencies): Promise<void>;
  /** What goes on beside the requests, for as long as there is a database. */
  tasks(failed: (task: string) => (error: unknown) => void): readonly Repeated[];
}

const keysMs = 30_000;
const purgeMs = 60_000;

export function buildConnectedApps(deps: ConnectedAppsDependencies): ConnectedApps {
  const keeper = new ProtocolKeeper(deps);
  const { origin, projector, now } = deps;
  return {
    async register(app, sessions) {
      registerApps(app, { sessions, projector, origin });
      registerGrants(app, { sessions, projector });
      const provider = async () => (await keeper.protocol()).provider;
      registerInteractions(app, { sessions, projector, provider, origin, now });
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
