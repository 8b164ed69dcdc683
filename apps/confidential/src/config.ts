import type { MediaSwitches } from '@sotto/router';
import { type Environment, readSettings, setting, type TrustProxy } from '@sotto/settings';
import { z } from 'zod';

const tlsError = 'takes `files` (with TLS_CERT_FILE and TLS_KEY_FILE) or `off` (loopback only)';

const environmentSchema = z.object({
  CONFIDENTIAL_PORT: setting.port(4001),
  HOST: z.string().default('0.0.0.0'),
  REDIS_URL: setting.redisUrl,
  PROVIDERS_FILE: setting.file.optional(),
  IMAGE_GENERATION: setting.onOff.default('off'),
  SPEECH_SYNTHESIS: setting.onOff.default('off'),
  TICKET_SEALING_KEY: setting.keyText,
  SETTLEMENT_MAC_KEY: setting.keyText,
  CONFIDENTIAL_TLS: z.enum(['files', 'off'], { error: tlsError }),
  TLS_CERT_FILE: setting.file.optional(),
  TLS_KEY_FILE: setting.file.optional(),
  TRUST_PROXY: setting.trustProxy,
  LOG_LEVEL: setting.logLevel.default('info'),
  NODE_ENV: z.string().optional(),
});

/** What the broker runs with; secrets apart, so that the rest may be shown. */
export interface BrokerConfig {
  readonly host: string;
  readonly port: number;
  readonly redisUrl: string;
  readonly providersFile: string | undefined;
  readonly media: MediaSwitches;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly trustProxy: TrustProxy;
  readonly logLevel: string;
  /** With NODE_ENV=production: then Redis must keep what it has answered. */
  readonly isProduction: boolean;
  readonly secrets: { readonly ticketSealingKey: Buffer; readonly settlementMacKey: Buffer };
}

export type ConfigResult =
  | { readonly ok: true; readonly config: BrokerConfig }
  | { readonly ok: false; readonly message: string };

/** Reads the environment; what is wrong comes back as one line. */
export function readConfig(environment: Environment): ConfigResult {
  const read = readSettings(environmentSchema, environment);
  if (!read.ok) return read;
  const env = read.settings;
  if (env.CONFIDENTIAL_TLS === 'off' && !setting.isLoopback(env.HOST)) {
    const message = `CONFIDENTIAL_TLS is \`off\` while HOST is \`${env.HOST}\`: without TLS the broker listens on loopback only`;
    return { ok: false, message };
  }
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = env;
  if (env.CONFIDENTIAL_TLS === 'files' && (certFile === undefined || keyFile === undefined)) {
    return { ok: false, message: 'CONFIDENTIAL_TLS is `files`: it takes TLS_CERT_FILE and TLS_KEY_FILE beside it' };
  }
  return {
    ok: true,
    config: Object.freeze({
      host: env.HOST,
      port: env.CONFIDENTIAL_PORT,
      redisUrl: env.REDIS_URL,
      providersFile: env.PROVIDERS_FILE,
      media: { image: env.IMAGE_GENERATION === 'on', speech: env.SPEECH_SYNTHESIS === 'on' },
      tls: env.CONFIDENTIAL_TLS === 'files' && certFile && keyFile ? { certFile, keyFile } : undefined,
      trustProxy: env.TRUST_PROXY,
      logLevel: env.LOG_LEVEL,
      isProduction: env.NODE_ENV === 'production',
      secrets: {
        ticketSealingKey: setting.keyBytes(env.TICKET_SEALING_KEY),
        settlementMacKey: setting.keyBytes(env.SETTLEMENT_MAC_KEY),
      },
    }),
  };
}
