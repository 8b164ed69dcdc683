import { type Environment, readSettings, settingsSchemas } from '@sotto/server';

/** The keeper's settings. */
export interface KeeperConfig {
  readonly host: string;
  readonly port: number;
  /** The keeper's address as brokers know it. */
  readonly origin: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string };
  /** File that says which brokers get the secrets. */
  readonly pinsFile: string;
  /** File with the secrets. */
  readonly secretsFile: string;
  readonly logLevel: string;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: KeeperConfig }
  | { readonly ok: false; readonly message: string };

/** Reads the environment. A problem is returned as one line. */
export function readConfig(environment: Environment): ConfigResult {
  const read = readSettings(settingsSchemas.keeper, environment);
  if (!read.ok) return read;
  const env = read.settings;
  return {
    ok: true,
    config: {
      host: env.HOST,
      port: env.KEEPER_PORT,
      origin: env.KEEPER_ORIGIN,
      tls: { certFile: env.TLS_CERT_FILE, keyFile: env.TLS_KEY_FILE },
      pinsFile: env.PINS_FILE,
      secretsFile: env.SECRETS_FILE,
      logLevel: env.LOG_LEVEL,
    },
  };
}
