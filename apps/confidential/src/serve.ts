import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BrokerConfig,
  createMetricsApp,
  type EarlyConfig,
  type Environment,
  exitMessage,
  listenBacklog,
  listenError,
  listenProblem,
  loadSettings,
  openLogOutlet,
  readBrokerConfig,
  readEarlyConfig,
  returnMemoryWhenQuiet,
  StartError,
  setting,
} from '@sotto/server';
import { brokerConnectionName, createRedisState } from '@sotto/state';
import { pino } from 'pino';
import { composeBroker, readRegistryFile } from './compose-broker.ts';
import { brokerEvents } from './events.ts';
import { openAttestation } from './gateway/open-attestation.ts';
import { type Machine, withReleased } from './keeper/with-released.ts';
import { reloading } from './reloading.ts';
import type { Broker } from './wiring.ts';

/** How often a broker that has started looks whether it can serve. */
const askMs = 250;

/** Runs the broker until a signal ends it. `given` is the environment that the process was given. */
export async function serve(given: Environment): Promise<void> {
  // Otherwise Node would print the whole error, with anything that it quotes.
  process.on('uncaughtException', (error) => {
    process.stderr.write(exitMessage('sotto-confidential', error));
    process.exit(1);
  });
  await start(given).catch(endStart);
}

async function start(given: Environment): Promise<void> {
  // Process 1 of a container receives only the signals that it listens for. The listener stays the same, because a
  // signal that has arrived for a removed one is lost.
  let stop = (): void => process.exit(0);
  const onSignal = (): void => stop();
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  // Before the broker runs, everything is about to be read anyway. Without a listener, the signal would end the process.
  let reload = (): void => {};
  process.on('SIGHUP', () => reload());
  const loaded = loadSettings({ plane: 'broker', environment: given });
  if (!loaded.ok) throw new StartError(loaded.message);
  for (const warning of loaded.warnings) process.stderr.write(`sotto-confidential: warning: ${warning}\n`);
  const early = readEarlyConfig(loaded.settings);
  if (!early.ok) throw new StartError(loaded.explain(early.message));
  returnMemoryWhenQuiet();
  const outlet = openLogOutlet();
  process.on('exit', () => outlet.end());
  const logger = pino({ level: early.settings.LOG_LEVEL, base: { process: 'confidential' } }, outlet);
  const events = brokerEvents(logger);
  const registryFile = await readRegistryFile(early.settings.PROVIDERS_FILE);
  const attest = () => openAttestation(early.settings, events.collateralExpiring);
  const machine = { attest, events };
  const environment = await withReleased(loaded.settings, early.settings, { ...machine, registryFile });
  const read = readBrokerConfig(environment);
  if (!read.ok) throw new StartError(loaded.explain(read.message));
  const config = read.settings;
  const isProduction = config.NODE_ENV === 'production';
  const onVolatile = isProduction ? (problem: string) => events.redisVolatile({ problem }) : undefined;
  const onExposed = isProduction ? events.redisExposed : undefined;
  const state = createRedisState({
    ...{ url: config.REDIS_URL, name: brokerConnectionName },
    ...{ onVolatile, onExposed, onDenied: events.redisDenied, onConnection: events.redisConnection },
  });
  const { broker, tls } = await composeBroker(config, {
    state,
    logger,
    registryFile,
    providerKey: (name) => environment[name],
    producer: await attest(),
  });
  // Before the broker joins: a taken port ends the start with nothing to undo.
  const metrics = await serveMetrics(broker, config);
  await broker.start();
  const listening = {
    host: config.HOST,
    port: config.CONFIDENTIAL_PORT,
    backlog: listenBacklog,
    ...(config.CONFIDENTIAL_SHARE_PORT === 'on' ? { reusePort: true } : {}),
  };
  await broker.app.listen(listening).catch(async (error: unknown) => {
    // Otherwise a rebuild of a shard would wait until this process's lease lapses.
    await broker.drain({ announceMs: 0, graceMs: 0 }).catch(() => {});
    const problem = brokerProblem(error);
    throw problem === undefined ? error : new StartError(problem);
  });
  reload = reloading({
    reload: async () => broker.reload(await readAgain(given, early.settings, machine)),
    hasKeeper: early.settings.keeper !== undefined,
    onRefused: events.reloadRefused,
  });
  const followed = tls?.follow?.(broker.app.server);
  followed?.start();
  const stopping = new AbortController();
  void tellWhenServing(broker, stopping.signal, (ready) =>
    events.serving({ port: config.CONFIDENTIAL_PORT, ...ready }),
  );
  stop = () => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
    void Promise.all([followed?.stop(), broker.drain(setting.readDrain(config))])
      .then(() => state.close())
      .then(() => metrics?.close())
      .then(() => process.exit(0));
  };
}

/**
 * Reads the registry and the keys again: from `sotto.yaml`, from the files of secrets, and from the keeper. Other settings stay as they
 * were at the start. Throws a `StartError`.
 */
async function readAgain(given: Environment, early: EarlyConfig, machine: Omit<Machine, 'registryFile'>) {
  const loaded = loadSettings({ plane: 'broker', environment: given });
  if (!loaded.ok) throw new StartError(loaded.message);
  const registryFile = await readRegistryFile(loaded.settings.PROVIDERS_FILE || undefined);
  const environment = await withReleased(loaded.settings, early, { ...machine, registryFile });
  return { registryFile, providerKey: (name: string) => environment[name] };
}

/** Calls `tell` once, when the broker can serve. */
async function tellWhenServing(
  broker: Broker,
  signal: AbortSignal,
  tell: (ready: NonNullable<Awaited<ReturnType<Broker['readiness']>>>) => void,
): Promise<void> {
  while (!signal.aborted) {
    const ready = await broker.readiness().catch(() => undefined);
    if (ready !== undefined) return tell(ready);
    await sleep(askMs, undefined, { ref: false });
  }
}

async function serveMetrics({ metrics }: Broker, { HOST: host, METRICS_PORT: port }: BrokerConfig) {
  if (port === undefined) return undefined;
  const app = createMetricsApp([metrics.withProcess().registry]);
  await app.listen({ host, port }).catch((error: unknown) => {
    throw listenError(error, 'METRICS_PORT');
  });
  return app;
}

/** Explains a failure to listen, with the settings that only a broker has. */
function brokerProblem(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOTSUP')
    return 'CONFIDENTIAL_SHARE_PORT is `on`, but this system cannot share a port between processes. Set it to `off`';
  const problem = listenProblem(error, 'CONFIDENTIAL_PORT');
  return code === 'EADDRINUSE' ? `${problem}, or let brokers share it with CONFIDENTIAL_SHARE_PORT=on` : problem;
}

function endStart(error: unknown): never {
  const message =
    error instanceof StartError ? error.message : `unexpected error: ${error instanceof Error ? error.name : 'error'}`;
  process.stderr.write(`sotto-confidential: ${message}\n`);
  process.exit(1);
}
