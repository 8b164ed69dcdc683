import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { maximumVariables } from '@sotto/control';
import { keep } from './kept-file.ts';
import type { OneProcessOptions } from './one-process.ts';

/** The environment in which control runs as a process of its own. */
export function controlEnvironment(options: OneProcessOptions): Record<string, string> {
  const { config, ports, origins, secrets, files } = options;
  return {
    ...sharedEnvironment(options),
    ...config.billingEnvironment,
    ...config.signInEnvironment,
    CONTROL_PORT: String(ports.control),
    CONTROL_ORIGIN: origins.control,
    CONFIDENTIAL_ORIGIN: origins.confidential,
    DATABASE_URL: options.databaseUrl,
    CATALOG_FILE: files.catalogFile,
    ACCOUNT_REF_KEY: secrets.ACCOUNT_REF_KEY,
    SESSION_SECRET: secrets.SESSION_SECRET,
    CONNECTED_APPS: config.connectedApps ? 'on' : 'off',
    ...(config.creditKeysFile === undefined
      ? {}
      : { ANONYMOUS_WALLETS: 'on', CREDIT_KEYS_FILE: config.creditKeysFile }),
    ...(config.metricsPort === undefined ? {} : { METRICS_PORT: String(config.metricsPort) }),
    TICKET_TTL_S: String(config.ticketTtlMs / 1000),
    USAGE_RETENTION_MONTHS: config.usageRetention === undefined ? '' : String(config.usageRetention),
    RATE_LIMIT_REQUESTS: String(config.limits.requests),
    RATE_LIMIT_TOKENS: String(config.limits.tokens),
    RATE_LIMIT_CONTROL: String(config.limits.control),
    ...maximumVariables(config.maxima),
  };
}

/** The settings that both planes have. */
export const sharedEnvironment = ({ config, secrets }: OneProcessOptions): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOST: config.host,
  REDIS_URL: config.redisUrl ?? '',
  TICKET_SEALING_KEY: secrets.TICKET_SEALING_KEY,
  SETTLEMENT_MAC_KEY: secrets.SETTLEMENT_MAC_KEY,
  LOG_LEVEL: config.logLevel,
  ...(config.traces && { TRACES_URL: config.traces.url, TRACES_RATIO: String(config.traces.ratio) }),
  IMAGE_GENERATION: config.media.image ? 'on' : 'off',
  SPEECH_SYNTHESIS: config.media.speech ? 'on' : 'off',
});

/** Settings that commands of control need and that hold no secret. */
const plain = [
  'HOST',
  'REDIS_URL',
  'CONTROL_PORT',
  'CONTROL_ORIGIN',
  'CONFIDENTIAL_ORIGIN',
  'CATALOG_FILE',
  'SIGN_UP',
] as const;

/**
 * Writes settings of control into the data directory, for commands beside the running service such as `account create`. Of the secrets,
 * it writes those that the directory holds already. A database, a Redis or a key that the operator gave stays out of it. Returns a
 * function that removes the file.
 */
export async function showControlSettings(options: OneProcessOptions): Promise<() => Promise<void>> {
  const { config, files, secrets, databaseUrl } = options;
  const file = join(config.dataDir, 'control.json');
  const all = controlEnvironment(options);
  const generated = Object.entries(secrets).filter(
    ([name]) => config.givenSecrets[name as keyof typeof secrets] === undefined,
  );
  const settings = {
    ...Object.fromEntries(plain.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]]))),
    ...(config.redisUrl === undefined ? {} : { REDIS_URL: undefined }),
    ...(config.databaseUrl === undefined ? { DATABASE_URL: databaseUrl } : {}),
    ...Object.fromEntries(generated),
    // The registry is the broker's, and `doctor` reads it.
    PROVIDERS_FILE: files.registryFile,
  };
  await keep(file, { pid: process.pid, settings });
  return () => rm(file, { force: true });
}
