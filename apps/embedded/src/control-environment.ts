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

/**
 * Writes the settings of control into the data directory, for commands beside the running service such as `account create`. Returns a
 * function that removes them.
 */
export async function showControlSettings(options: OneProcessOptions): Promise<() => Promise<void>> {
  const file = join(options.config.dataDir, 'control.json');
  const { PATH: _, ...settings } = controlEnvironment(options);
  // The registry is the broker's, and `doctor` reads it.
  await keep(file, { pid: process.pid, settings: { ...settings, PROVIDERS_FILE: options.files.registryFile } });
  return () => rm(file, { force: true });
}
