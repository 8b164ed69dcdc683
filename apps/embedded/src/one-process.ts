import {
  AttestationError,
  type BrokerOptions,
  buildBroker,
  openAttestation,
  RegistryFileError,
} from '@sotto/confidential';
import { buildControl, type Control, printMail, readBillingPlan, readIssuer, smtpMail } from '@sotto/control';
import { createMetricsApp, listenBacklog, listenProblem, readFileOrPart, setting } from '@sotto/server';
import { type BrokerState, controlClient, createMemoryState, MemoryStore, type State } from '@sotto/state';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { EmbeddedConfig, Secrets } from './config.ts';
import type { ServiceFiles } from './files/prepare-files.ts';
import { type RunningPlanes, StartError } from './service.ts';

export interface OneProcessOptions {
  readonly config: EmbeddedConfig;
  readonly ports: { readonly control: number; readonly confidential: number };
  /** Addresses on this machine. The public origins may not be reachable from it. */
  readonly local: { readonly control: string; readonly confidential: string };
  readonly origins: { readonly control: string; readonly confidential: string };
  readonly databaseUrl: string;
  readonly files: ServiceFiles;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly verification: EnclaveVerification;
}

/** Replaces the verification of providers' enclaves, for tests. */
export type EnclaveVerification = Pick<BrokerOptions, 'engine' | 'enclaves'>;

const leave = { announceMs: 0, graceMs: 10_000 };

/** Runs both planes in this process with in-memory state: embedded mode without Redis. */
export async function startOneProcess(options: OneProcessOptions): Promise<RunningPlanes> {
  const { config, ports, origins, secrets, logger, files } = options;
  const store = new MemoryStore(Date.now);
  const plan = await readBillingPlan(config.billing.file);
  if (!plan.ok) throw new StartError(plan.message);
  const { creditKeysFile } = config;
  const issuer = creditKeysFile === undefined ? undefined : await readIssuer(creditKeysFile);
  if (issuer?.ok === false) throw new StartError(issuer.message);
  const sealing = {
    ticketSealingKey: setting.keyBytes(secrets.TICKET_SEALING_KEY),
    settlementMacKey: setting.keyBytes(secrets.SETTLEMENT_MAC_KEY),
  };
  const broker = await openBroker(
    options,
    withCommit(createMemoryState({ store }), () => control),
    sealing,
  );
  const control: Control = await buildControl({
    state: createMemoryState({ store, newClient: controlClient }),
    isAlone: true,
    logger: logger.child({ process: 'control' }),
    databaseUrl: options.databaseUrl,
    origin: origins.control,
    confidentialOrigin: origins.confidential,
    trustedOrigins: [`http://localhost:${ports.control}`],
    catalogFile: files.catalogFile,
    secrets: {
      ...sealing,
      accountRefKey: setting.keyBytes(secrets.ACCOUNT_REF_KEY),
      sessionSecret: secrets.SESSION_SECRET,
    },
    media: config.media,
    connectedApps: config.connectedApps,
    issuer: issuer?.settings,
    ticketTtlMs: config.ticketTtlMs,
    usageRetention: config.usageRetention,
    limits: config.limits,
    maxima: config.maxima,
    limitsRedis: undefined,
    trustProxy: false,
    traces: config.traces,
    billing: { ...config.billing, plan: plan.settings },
    mailer: config.signIn.smtp ? smtpMail(config.signIn.smtp) : printMail((text) => process.stdout.write(text)),
    openid: config.signIn.openid,
    signUp: config.signIn.signUp,
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
    await listen(control.app, config.host, ports.control, 'CONTROL_PORT');
    await listen(broker.app, config.host, ports.confidential, 'CONFIDENTIAL_PORT');
    if (config.metricsPort !== undefined) await listen(metrics, config.host, config.metricsPort, 'METRICS_PORT');
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    controlOrigin: origins.control,
    confidentialOrigin: origins.confidential,
    oneProcess: true,
    reload: () => control.reload(),
    stop,
  };
}

async function openBroker(
  { config, files, logger, origins, verification }: OneProcessOptions,
  state: BrokerState,
  secrets: { readonly ticketSealingKey: Buffer; readonly settlementMacKey: Buffer },
): ReturnType<typeof buildBroker> {
  const bytes = await readFileOrPart(files.registryFile).catch(() => {
    throw new StartError(
      `PROVIDERS_FILE is \`${files.registryFile}\`, which cannot be read. Set it to a readable file`,
    );
  });
  try {
    const producer = await openAttestation({
      mode: config.attestation,
      isProduction: false,
      onExpiring: (document, until) => logger.error({ document, until }, 'collateral ends soon'),
    }).catch((error: unknown) => {
      // On a confidential machine, hardware must not attest a process that contains both planes.
      if (config.attestation === 'auto' && error instanceof AttestationError) return undefined;
      throw error;
    });
    return await buildBroker({
      ...verification,
      state,
      logger: logger.child({ process: 'confidential' }),
      registryFile: { name: files.registryFile, bytes },
      providerKey: (name) => process.env[name],
      secrets,
      media: config.media,
      trustProxy: false,
      traces: config.traces,
      gateway: producer && { origin: origins.confidential, producer, tlsKeys: undefined },
    });
  } catch (error) {
    const isKnown = error instanceof RegistryFileError || error instanceof AttestationError;
    throw isKnown ? new StartError(error.message) : error;
  }
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
      if (!isTaken || tries >= 10) {
        const problem = listenProblem(error, variable);
        throw problem === undefined ? error : new StartError(problem);
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
}
