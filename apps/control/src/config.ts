import type { BlockList } from 'node:net';
import type { Maxima } from '@sotto/contract';
import type { MediaSwitches } from '@sotto/router';
import { type Environment, type Leave, readSettings, type Settings, setting, type TrustProxy } from '@sotto/server';
import { z } from 'zod';
import {
  type BillingSettings,
  environmentSchema as billingSchema,
  readBillingSettings,
} from './billing/billing-settings.ts';
import type { Address } from './connect-to.ts';
import { maximumSettings, readMaxima } from './limits/maximum-settings.ts';
import {
  readSignInSettings,
  type SignInSettings,
  environmentSchema as signInSchema,
} from './sessions/sign-in-settings.ts';
import { readCreditKeysFile, walletSettings } from './wallets/issuer.ts';

export const environmentSchema = z.object({
  CONTROL_PORT: setting.port(4000).describe('Port that control listens on.'),
  HOST: z.string().default('0.0.0.0').describe('Address that control listens on.'),
  CONTROL_ORIGIN: setting.origin
    .optional()
    .describe('Public address of control. The default is made from `HOST` and `CONTROL_PORT`.'),
  CONFIDENTIAL_ORIGIN: setting.origin
    .optional()
    .describe(
      'Public address of the broker. The default is made from `HOST`, `CONFIDENTIAL_PORT` and `CONFIDENTIAL_TLS`.',
    ),
  CONTROL_ADDRESS: setting.hostPort
    .optional()
    .describe(
      'Where `doctor` reaches control, if `CONTROL_ORIGIN` leads elsewhere, such as `localhost` in a container.',
    ),
  CONFIDENTIAL_ADDRESS: setting.hostPort
    .optional()
    .describe('Where control and `doctor` reach the broker, if `CONFIDENTIAL_ORIGIN` leads elsewhere.'),
  CONFIDENTIAL_PORT: setting.port(4001).describe("The broker's port, used when `CONFIDENTIAL_ORIGIN` is not set."),
  CONFIDENTIAL_TLS: setting.confidentialTls.describe(
    "The broker's `CONFIDENTIAL_TLS`, used when `CONFIDENTIAL_ORIGIN` is not set: `off` means `http`.",
  ),
  DATABASE_URL: setting.postgresUrl.describe(
    'PostgreSQL 15 or later. A pooler in front of it must keep sessions, because control prepares statements and listens.',
  ),
  REDIS_URL: setting.redisUrl.describe(
    'Redis 7 or Valkey, shared with the broker. List several hosts, or add `?cluster=1`, for a cluster.',
  ),
  CATALOG_FILE: setting.file
    .optional()
    .describe('Catalog of models, as YAML. Control reads it again on SIGHUP. The default is the built-in catalog.'),
  IMAGE_GENERATION: setting.onOff
    .default('off')
    .describe('Enables image generation. Set it on control and the broker.'),
  SPEECH_SYNTHESIS: setting.onOff
    .default('off')
    .describe('Enables speech synthesis. Set it on control and the broker.'),
  CONNECTED_APPS: setting.onOff.default('off').describe('Lets apps connect to accounts by OAuth, under `/v1/connect`.'),
  ...walletSettings,
  WEBHOOK_NETWORKS: setting.addresses.describe(
    'Private addresses and networks that webhooks of workspaces may reach, besides public addresses.',
  ),
  TICKET_TTL_S: setting
    .count('a number of seconds from 1 to 3600', 3600)
    .default(300)
    .describe('Seconds until an unused ticket expires.'),
  USAGE_RETENTION_MONTHS: setting
    .count('a number of months from 1 to 1200', 1200)
    .optional()
    .describe(
      'Whole UTC months, besides the present one, for which the usage of single requests is kept. Sums by day and the ledger stay. The default keeps everything.',
    ),
  TICKET_SEALING_KEY: setting.keyText.describe('Encrypts tickets. The broker has the same key.'),
  ACCOUNT_REF_KEY: setting.keyText.describe(
    'Encrypts the references to accounts that pass through Redis. Only control has it.',
  ),
  OTHER_ACCOUNT_REF_KEY: setting.keyText
    .optional()
    .describe('Second key that is accepted while you rotate `ACCOUNT_REF_KEY`.'),
  SETTLEMENT_MAC_KEY: setting.keyText.describe(
    'Authenticates the settlements that the broker sends to control. The broker has the same key.',
  ),
  OTHER_SETTLEMENT_MAC_KEY: setting.keyText
    .optional()
    .describe('Second key that is accepted while you rotate `SETTLEMENT_MAC_KEY`.'),
  SESSION_SECRET: setting.sessionSecret.describe('Signs session cookies. Only control has it.'),
  OTHER_SESSION_SECRET: setting.sessionSecret
    .optional()
    .describe('Second secret that is accepted while you rotate `SESSION_SECRET`.'),
  RATE_LIMIT_REQUESTS: setting
    .count('a number of requests per minute')
    .default(600)
    .describe('Inference requests per minute and key.'),
  RATE_LIMIT_TOKENS: setting
    .count('a number of tokens per minute')
    .default(2_000_000)
    .describe('Inference tokens per minute and key.'),
  RATE_LIMIT_CONTROL: setting
    .count('a number of requests per minute')
    .default(600)
    .describe('Requests to control per minute, by account once a credential is verified, else by address.'),
  ...maximumSettings,
  METRICS_PORT: setting.portOrOff.describe('Port for Prometheus metrics, at `/metrics` on `HOST`.'),
  TRUST_PROXY: setting.trustProxy.describe('Proxies whose forwarded headers control believes.'),
  LOG_LEVEL: setting.logLevel.default('info').describe('Least severe level that is logged.'),
  ...setting.drain,
  ...setting.traces,
  NODE_ENV: z.string().optional().describe('With `production`, control is not ready until Redis is durable.'),
});

/** Every setting that control reads. */
export const settingsSchema = z.object({
  ...environmentSchema.shape,
  ...billingSchema.shape,
  ...signInSchema.shape,
});

/** The configuration of control. Secrets are separate, so that the rest may be shown. */
export interface ControlConfig {
  readonly host: string;
  readonly port: number;
  readonly origin: string;
  readonly confidentialOrigin: string;
  /** Where this machine reaches both origins. Undefined: where their names lead. */
  readonly addresses: { readonly control: Address | undefined; readonly confidential: Address | undefined };
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly catalogFile: string | undefined;
  readonly media: MediaSwitches;
  readonly connectedApps: boolean;
  /** The keys of anonymous wallets. Undefined: they are off. */
  readonly creditKeysFile: string | undefined;
  readonly webhookNetworks: BlockList | undefined;
  readonly ticketTtlMs: number;
  readonly usageRetention: number | undefined;
  readonly limits: { readonly requests: number; readonly tokens: number; readonly control: number };
  /** The most that one account may have. */
  readonly maxima: Maxima;
  /** Undefined: no metrics are served. */
  readonly metricsPort: number | undefined;
  readonly trustProxy: TrustProxy;
  readonly logLevel: string;
  /** How to shut down after SIGTERM. */
  readonly drain: Leave;
  /** Undefined: nothing is traced. */
  readonly traces: { readonly url: string; readonly ratio: number } | undefined;
  /** With NODE_ENV=production. Redis must then be durable. */
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
  /** The other secrets of a rotation. Control accepts what they sealed and signed, but uses them for nothing else. */
  readonly other?: {
    readonly accountRefKey?: Buffer | undefined;
    readonly settlementMacKey?: Buffer | undefined;
    readonly sessionSecret?: string | undefined;
  };
}

const allAddresses: ReadonlySet<string> = new Set(['0.0.0.0', '[::]', '[::ffff:0:0]']);

/** Reads the environment. On failure, returns one line. */
export function readConfig(environment: Environment): Settings<ControlConfig> {
  const read = readSettings(environmentSchema, environment);
  if (!read.ok) return read;
  const billing = readBillingSettings(environment, { testRail: 'off' });
  if (!billing.ok) return billing;
  const signIn = readSignInSettings(environment);
  if (!signIn.ok) return signIn;
  const env = read.settings;
  const same = rotatedSecrets.find((name) => env[name] !== undefined && env[name] === env[`OTHER_${name}`]);
  if (same !== undefined) {
    return {
      ok: false,
      message: `OTHER_${same} is the same as ${same}: it takes the one that replaces it, or was replaced`,
    };
  }
  const local = localHost(env.HOST);
  const scheme = env.CONFIDENTIAL_TLS === 'off' ? 'http' : 'https';
  const creditKeys = readCreditKeysFile(env, billing.settings);
  if (!creditKeys.ok) return creditKeys;
  return {
    ok: true,
    settings: Object.freeze({
      host: env.HOST,
      port: env.CONTROL_PORT,
      origin: controlOriginOf(env),
      confidentialOrigin: env.CONFIDENTIAL_ORIGIN ?? `${scheme}://${local}:${env.CONFIDENTIAL_PORT}`,
      addresses: { control: env.CONTROL_ADDRESS, confidential: env.CONFIDENTIAL_ADDRESS },
      databaseUrl: env.DATABASE_URL,
      redisUrl: env.REDIS_URL,
      catalogFile: env.CATALOG_FILE,
      media: { image: env.IMAGE_GENERATION === 'on', speech: env.SPEECH_SYNTHESIS === 'on' },
      connectedApps: env.CONNECTED_APPS === 'on',
      creditKeysFile: creditKeys.settings,
      webhookNetworks: env.WEBHOOK_NETWORKS,
      ticketTtlMs: env.TICKET_TTL_S * 1000,
      usageRetention: env.USAGE_RETENTION_MONTHS,
      limits: { requests: env.RATE_LIMIT_REQUESTS, tokens: env.RATE_LIMIT_TOKENS, control: env.RATE_LIMIT_CONTROL },
      maxima: readMaxima(env),
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

const rotatedSecrets = ['ACCOUNT_REF_KEY', 'SETTLEMENT_MAC_KEY', 'SESSION_SECRET'] as const;

const keyOrNone = (text: string | undefined): Buffer | undefined =>
  text === undefined ? undefined : setting.keyBytes(text);

/** The public origin of control, of settings or their defaults. */
const controlOriginOf = (
  env: Pick<z.output<typeof environmentSchema>, 'CONTROL_ORIGIN' | 'HOST' | 'CONTROL_PORT'>,
): string => env.CONTROL_ORIGIN ?? `http://${localHost(env.HOST)}:${env.CONTROL_PORT}`;

/** The address at which this machine reaches a server that listens on `HOST`. */
function localHost(given: string): string {
  const host = given.includes(':') ? `[${given}]` : given;
  // A wildcard address, in any spelling, is not an address to connect to. Neither is one with a scope.
  const named = URL.parse(`http://${host}`)?.hostname ?? '0.0.0.0';
  return allAddresses.has(named) ? '127.0.0.1' : host;
}

/** Reads the settings of commands that send links. */
export function readLinkSettings(
  environment: Environment,
): Settings<{ readonly origin: string; readonly signIn: SignInSettings }> {
  const read = readSettings(
    environmentSchema.pick({ CONTROL_ORIGIN: true, HOST: true, CONTROL_PORT: true }),
    environment,
  );
  if (!read.ok) return read;
  const signIn = readSignInSettings(environment);
  if (!signIn.ok) return signIn;
  return { ok: true, settings: { origin: controlOriginOf(read.settings), signIn: signIn.settings } };
}

/** Reads the setting that commands without a server need. */
export const readDatabaseUrl = (environment: Environment): Settings<{ DATABASE_URL: string }> =>
  readSettings(environmentSchema.pick({ DATABASE_URL: true }), environment);

/** Reads the settings of the audit. Without Redis, it audits only the ledger. */
export const readAuditUrls = (
  environment: Environment,
): Settings<{ DATABASE_URL: string; REDIS_URL?: string | undefined }> =>
  readSettings(
    environmentSchema.pick({ DATABASE_URL: true }).extend({ REDIS_URL: setting.redisUrl.optional() }),
    environment,
  );
