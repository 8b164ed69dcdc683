import { type Environment, readSettings, setting } from '@sotto/settings';
import { z } from 'zod';

const environmentSchema = z.object({
  HOST: z.string().default('0.0.0.0'),
  KEEPER_PORT: setting.port(4002),
  KEEPER_ORIGIN: setting.httpsOrigin,
  TLS_CERT_FILE: setting.file,
  TLS_KEY_FILE: setting.file,
  PINS_FILE: setting.file,
  SECRETS_FILE: setting.file,
  LOG_LEVEL: setting.logLevel.default('info'),
});

/** What the keeper runs with. */
export interface KeeperConfig {
  readonly host: string;
  readonly port: number;
  /** The address that brokers know it by. */
  readonly origin: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string };
  /** Which brokers get the secrets. */
  readonly pinsFile: string;
  /** What they get. */
  readonly secretsFile: string;
  readonly logLevel: string;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: KeeperConfig }
  | { readonly ok: false; readonly message: string };

/** Reads the environment; what is wrong comes back as one line. */
export function readConfig(environment: Environment): ConfigResult {
  const read = readSettings(environmentSchema, environment);
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
