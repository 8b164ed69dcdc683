import type { Leave } from '@sotto/http';
import type { MediaSwitches } from '@sotto/router';
import { type Environment, readSettings, type Settings, setting, type TrustProxy } from '@sotto/settings';
import { z } from 'zod';
import { type BillingSettings, readBillingSettings } from './billing/billing-settings.ts';
import { readSignInSettings, type SignInSettings } from './sessions/sign-in-settings.ts';

const environmentSchema = z.object({
  CONTROL_PORT: setting.port(4000),
  HOST: z.string().default('0.0.0.0'),
  CONTROL_ORIGIN: setting.origin.optional(),
  CONFIDENTIAL_ORIGIN: setting.origin.optional(),
  /** The broker's, for where its origin is not said. */
  CONFIDENTIAL_PORT: setting.port(4001),
  CONFIDENTIAL_TLS: setting.confidentialTls,
  DATABASE_URL: setting.postgresUrl,
  REDIS_URL: setting.redisUrl,
  CATALOG_FILE: setting.file.optional(),
  IMAGE_GENERATION: setting.onOff.default('off'),
  SPEECH_SYNTHESIS: setting.onOff.default('off'),
  CONNECTED_APPS: setting.onOff.default('off'),
  TICKET_TTL_S: setting.count('a number of seconds from 1 to 3600', 3600).default(300),
  TICKET_SEALING_KEY: setting.keyText,
  ACCOUNT_REF_KEY: setting.keyText,
  OTHER_ACCOUNT_REF_KEY: setting.keyText.optional(),
  SETTLEMENT_MAC_KEY: setting.keyText,
  OTHER_SETTLEMENT_MAC_KEY: setting.keyText.optional(),
  SESSION_SECRET: setting.sessionSecret,
  OTHER_SESSION_SECRET: setting.sessionSecret.optional(),
  RATE_LIMIT_REQUESTS: setting.count('a number of requests per minute').default(600),
  RATE_LIMIT_TOKENS: setting.count('a number of tokens per minute').default(2_000_000),
  RATE_LIMIT_CONTROL: setting.count('a number of requests per minute').default(600),
  METRICS_PORT: setting.portOrOff,
  TRUST_PROXY: setting.trustProxy,
  LOG_LEVEL: setting.logLevel.default('info'),
  ...setting.drain,
  ...setting.traces,
  NODE_ENV: z.string().optional(),
});

/** What control runs with; secrets apart, so that the rest may be shown. */
export interface ControlConfig {
  readonly host: string;
  readonly port: number;
  readonly origin: string;
  readonly confidentialOrigin: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly catalogFile: string | undefined;
  readonly media: MediaSwitches;
  readonly connectedApps: boolean;
  readonly ticketTtlMs: number;
  readonly limits: { readonly requests: number; readonly tokens: number; readonly control: number };
  /** Undefined: no metrics are served. */
  readonly metricsPort: number | undefined;
  readonly trustProxy: TrustProxy;
  readonly logLevel: string;
  /** How it goes at SIGTERM. */
  readonly drain: Leave;
  /** Undefined: nothing is traced. */
  readonly traces: { readonly url: string; readonly ratio: number } | undefined;
  /** With NODE_ENV=production: then Redis must keep what it has answered. */
  readonly isProduction: boolean;
  readonly billing: BillingSettings;
  readonly signIn: SignInSettings;
  readonly secrets: ControlSecrets;
}

export interface ControlSecrets {
  readonly ticketSealingKey: Buffer;
  readonly accountRefKey: Buffer;
  readonly settlementMacKey: Buffer;
  readonly sessionSecret: string;
  /** Of those that are being replaced: what these sealed and signed is believed as well, and nothing is done with them. */
  readonly other?: {
    readonly accountRefKey?: Buffer | undefined;
    readonly settlementMacKey?: Buffer | undefined;
    readonly sessionSecret?: string | undefined;
  };
}

const allAddresses: ReadonlySet<string> = new Set(['0.0.0.0', '[::]', '[::ffff:0:0]']);

/** Reads the environment; what is wrong comes back as one line. */
export function readConfig(environment: Environment): Settings<ControlConfig> {
  const read = readSettings(environmentSchema, environment);
  if (!read.ok) return read;
  const billing = readBillingSettings(environment, { testRail: 'off' });
  if (!billing.ok) return billing;
  const signIn = readSignInSettings(environment);
  if (!signIn.ok) return signIn;
  const env = read.settings;
  const same = exchanged.find((name) => env[name] !== undefined && env[name] === env[`OTHER_${name}`]);
  if (same !== undefined) {
    return {
      ok: false,
      message: `OTHER_${same} is the same as ${same}: it takes the one that replaces it, or was replaced`,
    };
  }
  const host = env.HOST.includes(':') ? `[${env.HOST}]` : env.HOST;
  // What stands for all addresses, in whatever way it is written, is none to be reached at; nor is one with a scope.
  const named = URL.parse(`http://${host}`)?.hostname ?? '0.0.0.0';
  const local = allAddresses.has(named) ? '127.0.0.1' : host;
  const scheme = env.CONFIDENTIAL_TLS === 'off' ? 'http' : 'https';
  return {
    ok: true,
    settings: Object.freeze({
      host: env.HOST,
      port: env.CONTROL_PORT,
      origin: env.CONTROL_ORIGIN ?? `http://${local}:${env.CONTROL_PORT}`,
      confidentialOrigin: env.CONFIDENTIAL_ORIGIN ?? `${scheme}://${local}:${env.CONFIDENTIAL_PORT}`,
      databaseUrl: env.DATABASE_URL,
      redisUrl: env.REDIS_URL,
      catalogFile: env.CATALOG_FILE,
      media: { image: env.IMAGE_GENERATION === 'on', speech: env.SPEECH_SYNTHESIS === 'on' },
      connectedApps: env.CONNECTED_APPS === 'on',
      ticketTtlMs: env.TICKET_TTL_S * 1000,
      limits: { requests: env.RATE_LIMIT_REQUESTS, tokens: env.RATE_LIMIT_TOKENS, control: env.RATE_LIMIT_CONTROL },
      metricsPort: env.METRICS_PORT,
      trustProxy: env.TRUST_PROXY,
      logLevel: env.LOG_LEVEL,
      drain: setting.readDrain(env),
      traces: setting.readTraces(env),
      isProduction: env.NODE_ENV === 'production',
      billing: billing.settings,
      signIn: signIn.settings,
      secrets: {
        ticketSealingKey: setting.keyBytes(env.TICKET_SEALING_KEY),
        accountRefKey: setting.keyBytes(env.ACCOUNT_REF_KEY),
        settlementMacKey: setting.keyBytes(env.SETTLEMENT_MAC_KEY),
        sessionSecret: env.SESSION_SECRET,
        other: {
          accountRefKey: keyOrNone(env.OTHER_ACCOUNT_REF_KEY),
          settlementMacKey: keyOrNone(env.OTHER_SETTLEMENT_MAC_KEY),
          sessionSecret: env.OTHER_SESSION_SECRET,
        },
      },
    }),
  };
}

const exchanged = ['ACCOUNT_REF_KEY', 'SETTLEMENT_MAC_KEY', 'SESSION_SECRET'] as const;

const keyOrNone = (text: string | undefined): Buffer | undefined =>
  text === undefined ? undefined : setting.keyBytes(text);

/** The part of the environment that commands without a server need. */
export const readDatabaseUrl = (environment: Environment): Settings<{ DATABASE_URL: string }> =>
  readSettings(environmentSchema.pick({ DATABASE_URL: true }), environment);

/** What the audit reads; without Redis it audits the ledger alone. */
export const readAuditUrls = (
  environment: Environment,
): Settings<{ DATABASE_URL: string; REDIS_URL?: string | undefined }> =>
  readSettings(
    environmentSchema.pick({ DATABASE_URL: true }).extend({ REDIS_URL: setting.redisUrl.optional() }),
    environment,
  );
