import { AttestationError, composeBroker, openAttestation, readRegistryFile } from '@sotto/confidential';
import { type Control, composeControl, printMail, readConfigWithoutRedis } from '@sotto/control';
import { createMetricsApp, listenBacklog, listenError, readBrokerConfigWithoutRedis, required } from '@sotto/server';
import { controlClient, createMemoryState, MemoryStore, type State } from '@sotto/state';
import type { FastifyInstance } from 'fastify';
import { type PlaneOptions, planeEnvironments } from './plane-environments.ts';
import type { RunningPlanes } from './service.ts';

const leave = { announceMs: 0, graceMs: 10_000 };

/** Runs both planes in this process with in-memory state: embedded mode without Redis. */
export async function startOneProcess(options: PlaneOptions): Promise<RunningPlanes> {
  const { config, ports, origins, logger } = options;
  const environments = planeEnvironments(options);
  const ofBroker = required(readBrokerConfigWithoutRedis(environments.broker));
  const ofControl = required(readConfigWithoutRedis(environments.control));
  const providerKey = (name: string): string | undefined => process.env[name];
  const store = new MemoryStore(Date.now);
  const { broker } = await composeBroker(ofBroker, {
    ...options.verification,
    state: withCommit(createMemoryState({ store }), () => control),
    logger: logger.child({ process: 'confidential' }),
    registryFile: await readRegistryFile(ofBroker.PROVIDERS_FILE),
    providerKey,
    producer: await openAttestation(ofBroker, (document, until) =>
      logger.error({ document, until }, 'collateral ends soon'),
    ).catch((error: unknown) => {
      // On a confidential machine, hardware must not attest a process that contains both planes.
      if (ofBroker.ATTESTATION === 'auto' && error instanceof AttestationError) return undefined;
      throw error;
    }),
  });
  const control: Control = await composeControl(ofControl, {
    state: createMemoryState({ store, newClient: controlClient }),
    isAlone: true,
    logger: logger.child({ process: 'control' }),
    trustedOrigins: [`http://localhost:${ports.control}`],
    limitsRedis: undefined,
    mailer: printMail((text) => process.stdout.write(text)),
  });
  // One process serves the metrics of both planes on one port.
  const metrics = createMetricsApp([broker.metrics.withProcess().registry, control.metrics.registry]);
  const stop = async (): Promise<void> => {
    await broker.drain(leave);
    await control.stop(leave);
    await metrics.close();
  };
  try {
    await broker.start();
    await control.start();
    await listen(control.app, config.HOST, ports.control, 'CONTROL_PORT');
    await listen(broker.app, config.HOST, ports.confidential, 'CONFIDENTIAL_PORT');
    if (config.METRICS_PORT !== undefined) await listen(metrics, config.HOST, config.METRICS_PORT, 'METRICS_PORT');
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    controlOrigin: origins.control,
    confidentialOrigin: origins.confidential,
    oneProcess: true,
    reload() {
      void readRegistryFile(ofBroker.PROVIDERS_FILE)
        .then((registryFile) => broker.reload({ registryFile, providerKey }))
        .catch((error: Error) => logger.error({ problem: error.message }, 'reload refused'));
      control.reload();
    },
    stop,
  };
}

/**
 * Accepts a settlement only once Postgres has it, because memory does not survive the process. Takes `control` as a function,
 * because it is built after the broker.
 */
function withCommit(state: State, control: () => Control): State {
  return {
    ...state,
    async settle(request) {
      const settled = await state.settle(request);
      // Again after a full batch, which may not have reached this one.
      if (settled !== undefined) while (await control().settler.settleShard(request.shard));
      return settled;
    },
  };
}

/** Listens on a port. Waits for a predecessor that is still draining, and fails if the port stays in use. */
async function listen(app: FastifyInstance, host: string, port: number, variable: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await app.listen({ host, port, backlog: listenBacklog });
      return;
    } catch (error) {
      const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isTaken || tries >= 10) throw listenError(error, variable);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
}
