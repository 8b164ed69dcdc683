import { readFileSync } from 'node:fs';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { createMetricsApp, exitMessage, listenBacklog, listenProblem } from '@sotto/http';
import { type Environment, withSecretFiles } from '@sotto/settings';
import { brokerConnectionName, createRedisState } from '@sotto/state';
import { builtInRegistry } from './built-in-registry.ts';
import { type BrokerConfig, readConfig, readEarlyConfig } from './config.ts';
import { brokerEvents } from './events.ts';
import { AttestationError, openAttestation } from './gateway/open-attestation.ts';
import { readProvenance } from './gateway/read-provenance.ts';
import { withReleased } from './keeper/with-released.ts';
import { openLog } from './log.ts';
import { StartError } from './start-error.ts';
import { openTls } from './tls/open-tls.ts';
import { type Broker, buildBroker, RegistryFileError } from './wiring.ts';

/**
 * Runs the broker until a signal ends it. `given` is the environment that the process was given.
 */
export async function serve(given: Environment): Promise<void> {
  // Node itself would print the error as it is, and whatever it quotes.
  process.on('uncaughtException', (error) => {
    process.stderr.write(exitMessage('sotto-confidential', error));
    process.exit(1);
  });
  await start(given).catch(endStart);
}

async function start(given: Environment): Promise<void> {
  const withSecrets = withSecretFiles(given, (path) => readFileSync(path, 'utf8'));
  if (!withSecrets.ok) throw new StartError(withSecrets.message);
  const early = readEarlyConfig(withSecrets.settings);
  if (!early.ok) throw new StartError(early.message);
  const logger = openLog(early.config.logLevel);
  const events = brokerEvents(logger);
  const registryFile = readRegistryFile(early.config.providersFile);
  const attest = (): Promise<EvidenceProducer | undefined> =>
    openAttestation({
      mode: early.config.attestation,
      isProduction: early.config.isProduction,
      collateralUrl: early.config.collateralUrl,
      onExpiring: events.collateralExpiring,
    });
  const environment = await withReleased(withSecrets.settings, early.config, { attest, registryFile, events });
  const read = readConfig(environment);
  if (!read.ok) throw new StartError(read.message);
  const { config } = read;
  const onVolatile = config.isProduction ? (problem: string) => logger.error({ problem }, 'not ready') : undefined;
  const onExposed = config.isProduction ? events.redisExposed : undefined;
  const state = createRedisState({
    ...{ url: config.redisUrl, name: brokerConnectionName },
    ...{ onVolatile, onExposed, onDenied: events.redisDenied },
  });
  const tls = await openTls(config.tls, config.origin, Date.now).catch(() => {
    throw new StartError(`CONFIDENTIAL_TLS is \`${config.tls.kind}\`: its files cannot be read or written`);
  });
  const producer = await attest();
  const provenance = config.provenanceFile === undefined ? undefined : readProvenance(config.provenanceFile);
  const broker = await buildBroker({
    state,
    logger,
    registryFile,
    providerKey: (name) => environment[name],
    secrets: config.secrets,
    media: config.media,
    trustProxy: config.trustProxy,
    proxies: config.proxies,
    collateralUrl: config.collateralUrl,
    tls: tls?.options,
    traces: config.traces,
    gateway: producer && { origin: config.origin, producer, tlsKeys: tls?.named, provenance },
  });
  await broker.start();
  const listening = {
    host: config.host,
    port: config.port,
    backlog: listenBacklog,
    ...(config.sharesPort ? { reusePort: true } : {}),
  };
  await broker.app.listen(listening).catch((error: unknown) => {
    const problem = brokerProblem(error);
    throw problem === undefined ? error : new StartError(problem);
  });
  const metrics = await serveMetrics(broker, config);
  const followed = tls?.follow?.(broker.app.server);
  followed?.start();
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    void Promise.all([followed?.stop(), broker.drain(config.drain)])
      .then(() => state.close())
      .then(() => metrics?.close())
      .then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
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

function readRegistryFile(name: string | undefined): { name: string; bytes: Buffer } {
  if (name === undefined) return builtInRegistry();
  try {
    return { name, bytes: readFileSync(name) };
  } catch {
    throw new StartError(`PROVIDERS_FILE is \`${name}\`: it takes the path of a readable file`);
  }
}

/** Of listening: what only a broker can say or do. */
function brokerProblem(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOTSUP') return 'CONFIDENTIAL_SHARE_PORT is `on`: this system cannot share a port among processes';
  const problem = listenProblem(error, 'CONFIDENTIAL_PORT');
  return code === 'EADDRINUSE' ? `${problem}, or have brokers share it with CONFIDENTIAL_SHARE_PORT=on` : problem;
}

function endStart(error: unknown): never {
  const known = [StartError, AttestationError, RegistryFileError].some((kind) => error instanceof kind);
  const message =
    known && error instanceof Error ? error.message : `unexpected: ${error instanceof Error ? error.name : 'error'}`;
  process.stderr.write(`sotto-confidential: ${message}\n`);
  process.exit(1);
}
