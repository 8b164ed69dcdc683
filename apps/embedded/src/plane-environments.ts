import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { BrokerOptions } from '@sotto/confidential';
import { databasePlace } from '@sotto/control';
import { planeEnvironment } from '@sotto/server';
import type { Logger } from 'pino';
import type { EmbeddedConfig, Secrets } from './config.ts';
import type { ServiceFiles } from './files/prepare-files.ts';
import { keep } from './kept-file.ts';

/** What a start has found and made for the planes. */
export interface PlaneOptions {
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

/** Returns the environment of each plane: the settings of `npm start`, overridden by what the start has found and made. */
export function planeEnvironments({ config, ports, origins, databaseUrl, files, secrets }: PlaneOptions) {
  const settings = {
    ...config.given,
    ...secrets,
    CONTROL_PORT: String(ports.control),
    CONTROL_ORIGIN: origins.control,
    CONFIDENTIAL_PORT: String(ports.confidential),
    CONFIDENTIAL_ORIGIN: origins.confidential,
    DATABASE_URL: databaseUrl,
    CATALOG_FILE: files.catalogFile,
    PROVIDERS_FILE: files.registryFile,
    ATTESTATION: config.ATTESTATION,
    BILLING_TEST_RAIL: config.BILLING_TEST_RAIL,
    // It asks for what only a deployment of two machines has.
    NODE_ENV: '',
  };
  return {
    control: planeEnvironment('control', settings),
    broker: planeEnvironment('broker', { ...settings, METRICS_PORT: portAfter(config.METRICS_PORT) }),
  };
}

/** 0 stands for any free port. */
const portAfter = (port: number | undefined): string =>
  port === undefined ? 'off' : String(port === 0 ? 0 : port + 1);

/** Settings that commands of control need and that hold no secret. */
const plain = [
  'HOST',
  'CONTROL_PORT',
  'CONTROL_ORIGIN',
  'CONFIDENTIAL_ORIGIN',
  'CATALOG_FILE',
  'SIGN_UP',
  'SIGN_UP_DOMAINS',
] as const;

/**
 * Writes settings of control into the data directory, for commands beside the running service such as `account create`. Of the secrets,
 * it writes those that the directory holds already. A database, a Redis or a key that the operator gave stays out of it: commands read
 * it from the same `sotto.yaml`, or from their environment. Returns a function that removes the file.
 */
export async function showControlSettings(options: PlaneOptions): Promise<() => Promise<void>> {
  const { config, files, secrets, databaseUrl } = options;
  const file = join(config.dataDir, 'control.json');
  const all = planeEnvironments(options).control;
  const generated = Object.entries(secrets).filter(([name]) => !config.given[name]);
  const settings = {
    ...Object.fromEntries(plain.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]]))),
    // Empty: the state is in the memory of this process.
    ...(config.REDIS_URL === undefined ? { REDIS_URL: '' } : {}),
    ...(config.DATABASE_URL === undefined ? { DATABASE_URL: databaseUrl } : {}),
    ...Object.fromEntries(generated),
    // The registry is the broker's, and `doctor` reads it.
    PROVIDERS_FILE: files.registryFile,
  };
  const configFile = config.given.CONFIG_FILE;
  await keep(file, {
    pid: process.pid,
    ...(configFile && { config_file: resolve(configFile) }),
    database: databasePlace(databaseUrl),
    settings,
  });
  return () => rm(file, { force: true });
}
