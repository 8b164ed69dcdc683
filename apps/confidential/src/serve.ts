import { readFileSync } from 'node:fs';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import {
  brokerSchema,
  createMetricsApp,
  type Environment,
  exitMessage,
  listenBacklog,
  listenProblem,
  loadSettings,
  openLogOutlet,
  readFileOrPart,
} from '@sotto/server';
import { brokerConnectionName, createRedisState } from '@sotto/state';
import { pino } from 'pino';
import { type BrokerConfig, readConfig, readEarlyConfig } from './config.ts';
import { brokerEvents } from './events.ts';
import { AttestationError, openAttestation, readProvenance } from './gateway/open-attestation.ts';
import { StartError, withReleased } from './keeper/with-released.ts';
import type { RegistryBytes } from './providers/check-registry.ts';
import { builtInRegistry, RegistryFileError } from './registry-file.ts';
import { openTls, problemOfKeptKey } from './tls/open-tls.ts';
import { type Broker, buildBroker } from './wiring.ts';

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
  const loaded = loadSettings({
    ...{ plane: 'broker', schema: brokerSchema, environment: given },
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  if (!loaded.ok) throw new StartError(loaded.message);
  for (const warning of loaded.warnings) process.stderr.write(`sotto-confidential: warning: ${warning}\n`);
  const early = readEarlyConfig(loaded.settings);
  if (!early.ok) throw new StartError(loaded.explain(early.message));
  const outlet = openLogOutlet();
  process.on('exit', () => outlet.end());
  const logger = pino({ level: early.config.logLevel, base: { process: 'confidential' } }, outlet);
  const events = brokerEvents(logger);
  const registryFile = await readRegistryFile(early.config.providersFile);
  const attest = (): Promise<EvidenceProducer | undefined> =>
    openAttestation({
      mode: early.config.attestation,
      isProduction: early.config.isProduction,
      collateralUrl: early.config.collateralUrl,
      onExpiring: events.collateralExpiring,
    });
  const environment = await withReleased(loaded.settings, early.config, { attest, registryFile, events });
  const read = readConfig(environment);
  if (!read.ok) throw new StartError(loaded.explain(read.message));
  const { config } = read;
  const onVolatile = config.isProduction ? (problem: string) => logger.error({ problem }, 'not ready') : undefined;
  const onExposed = config.isProduction ? events.redisExposed : undefined;
  const state = createRedisState({
    ...{ url: config.redisUrl, name: brokerConnectionName },
    ...{ onVolatile, onExposed, onDenied: events.redisDenied },
  });
  const producer = await attest();
  const keptKey = problemOfKeptKey(config.tls, producer);
  if (keptKey !== undefined) throw new StartError(keptKey);
  const tls = await openTls(config.tls, config.origin, Date.now).catch(() => {
    throw new StartError(
      `CONFIDENTIAL_TLS is \`${config.tls.kind}\`, but its files cannot be read or written. Check their paths and modes`,
    );
  });
  const provenance = config.provenanceFile === undefined ? undefined : readProvenance(config.provenanceFile);
  const broker = await buildBroker({
    state,
    logger,
    registryFile,
    providerKey: (name) => environment[name],
    secrets: config.secrets,
    media: config.media,
    requestMemory: config.requestMemory,
    pacing: config.pacing,
    trustProxy: config.trustProxy,
    proxies: config.proxies,
    isForLoopback: config.isForLoopback,
    collateralUrl: config.collateralUrl,
    tls: tls?.options,
    traces: config.traces,
    gateway: producer && { origin: config.origin, producer, tlsKeys: tls?.named, provenance },
  });
  // Before the broker joins: a taken port ends the start with nothing to undo.
  const metrics = await serveMetrics(broker, config);
  await broker.start();
  const listening = {
    host: config.host,
    port: config.port,
    backlog: listenBacklog,
    ...(config.sharesPort ? { reusePort: true } : {}),
  };
  await broker.app.listen(listening).catch(async (error: unknown) => {
    // Otherwise a rebuild of a shard would wait until this process's lease lapses.
    await broker.drain({ announceMs: 0, graceMs: 0 }).catch(() => {});
    const problem = brokerProblem(error);
    throw problem === undefined ? error : new StartError(problem);
  });
  const followed = tls?.follow?.(broker.app.server);
  followed?.start();
  let stopping = false;
  stop = () => {
    if (stopping) process.exit(1);
    stopping = true;
    void Promise.all([followed?.stop(), broker.drain(config.drain)])
      .then(() => state.close())
      .then(() => metrics?.close())
      .then(() => process.exit(0));
  };
}

async function serveMetrics({ metrics }: Broker, { host, metricsPort: port }: BrokerConfig) {
  if (port === undefined) return undefined;
  const app = createMetricsApp([metrics.withProcess().registry]);
  await app.listen({ host, port }).catch((error: unknown) => {
    const problem = listenProblem(error, 'METRICS_PORT');
    throw problem === undefined ? error : new StartError(problem);
  });
  return app;
}

async function readRegistryFile(name: string | undefined): Promise<RegistryBytes> {
  if (name === undefined) return builtInRegistry();
  try {
    return { name, bytes: await readFileOrPart(name) };
  } catch {
    throw new StartError(`PROVIDERS_FILE is \`${name}\`, which cannot be read. Set it to a readable file`);
  }
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
  const known = [StartError, AttestationError, RegistryFileError].some((kind) => error instanceof kind);
  const message =
    known && error instanceof Error
      ? error.message
      : `unexpected error: ${error instanceof Error ? error.name : 'error'}`;
  process.stderr.write(`sotto-confidential: ${message}\n`);
  process.exit(1);
}
