import { join, resolve } from 'node:path';
import { type AttestationMode, attestationModes, type BrokerOptions } from '@sotto/confidential';
import {
  type BillingSettings,
  billingVariables,
  readBillingSettings,
  readSignInSettings,
  type SignInSettings,
  signInVariables,
} from '@sotto/control';
import { type Environment, readSettings, setting } from '@sotto/settings';
import { z } from 'zod';

const environmentSchema = z.object({
  CONTROL_PORT: setting.port(4000),
  CONFIDENTIAL_PORT: setting.port(4001),
  HOST: z
    .enum(setting.loopbackHosts, { error: 'takes a loopback address in embedded mode: 127.0.0.1, ::1 or localhost' })
    .default('127.0.0.1'),
  CONTROL_ORIGIN: setting.origin.optional(),
  CONFIDENTIAL_ORIGIN: setting.origin.optional(),
  SOTTO_DATA_DIR: setting.file.optional(),
  DATABASE_URL: setting.postgresUrl.optional(),
  REDIS_URL: setting.redisUrl.optional(),
  CATALOG_FILE: setting.file.optional(),
  PROVIDERS_FILE: setting.file.optional(),
  IMAGE_GENERATION: setting.onOff.default('on'),
  SPEECH_SYNTHESIS: setting.onOff.default('on'),
  CONNECTED_APPS: setting.onOff.default('off'),
  TICKET_TTL_S: setting.count('a number of seconds from 1 to 3600', 3600).default(300),
  TICKET_SEALING_KEY: setting.keyText.optional(),
  ACCOUNT_REF_KEY: setting.keyText.optional(),
  SETTLEMENT_MAC_KEY: setting.keyText.optional(),
  SESSION_SECRET: setting.sessionSecret.optional(),
  RATE_LIMIT_REQUESTS: setting.count('a number of requests per minute').default(600),
  RATE_LIMIT_TOKENS: setting.count('a number of tokens per minute').default(2_000_000),
  RATE_LIMIT_CONTROL: setting.count('a number of requests per minute').default(600),
  CONFIDENTIAL_TLS: z
    .literal('off', { error: 'takes `off` in embedded mode, which listens on loopback only' })
    .default('off'),
  ATTESTATION: z.enum(attestationModes, { error: `takes ${attestationModes.join(', ')}` }).default('auto'),
  METRICS_PORT: setting.portOrOff,
  ...setting.traces,
  LOG_LEVEL: setting.logLevel.default('warn'),
  NODE_ENV: z.string().optional(),
});

/** What embedded mode runs with. */
export interface EmbeddedConfig {
  readonly host: string;
  readonly controlPort: number;
  readonly confidentialPort: number;
  readonly controlOrigin: string | undefined;
  readonly confidentialOrigin: string | undefined;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly catalogFile: string | undefined;
  readonly providersFile: string | undefined;
  readonly media: BrokerOptions['media'];
  readonly connectedApps: boolean;
  readonly ticketTtlMs: number;
  readonly limits: { readonly requests: number; readonly tokens: number; readonly control: number };
  /** Undefined: no metrics are served. With two processes the broker has the port after it. */
  readonly metricsPort: number | undefined;
  /** Undefined: nothing is traced. */
  readonly traces: { readonly url: string; readonly ratio: number } | undefined;
  readonly attestation: AttestationMode;
  readonly logLevel: string;
  readonly billing: BillingSettings;
  /** The same as variables, for control as a process of its own. */
  readonly billingEnvironment: Readonly<Record<string, string>>;
  readonly signIn: SignInSettings;
  /** The same as variables, for control as a process of its own. */
  readonly signInEnvironment: Readonly<Record<string, string>>;
  /** Secrets given in the environment; the others are made and kept in the data directory. */
  readonly givenSecrets: Readonly<Record<SecretName, string | undefined>>;
}

export const secretNames = ['TICKET_SEALING_KEY', 'ACCOUNT_REF_KEY', 'SETTLEMENT_MAC_KEY', 'SESSION_SECRET'] as const;
export type SecretName = (typeof secretNames)[number];

export type ConfigResult =
  | { readonly ok: true; readonly config: EmbeddedConfig }
  | { readonly ok: false; readonly message: string };

/** Orders are paid without money where nobody can pay with any: beside a real rail only if somebody says so. */
const testRailOf = (environment: Environment): 'on' | 'off' =>
  environment.STRIPE_SECRET_KEY || environment.BTCPAY_URL ? 'off' : 'on';

/** Reads the environment; what is wrong comes back as one line. */
export function readConfig(environment: Environment, projectDir: string): ConfigResult {
  const read = readSettings(environmentSchema, environment);
  if (!read.ok) return read;
  const testRail = testRailOf(environment);
  const billing = readBillingSettings(environment, { testRail });
  if (!billing.ok) return billing;
  const signIn = readSignInSettings(environment);
  if (!signIn.ok) return signIn;
  const env = read.settings;
  if (env.CONTROL_PORT !== 0 && env.CONTROL_PORT === env.CONFIDENTIAL_PORT) {
    return {
      ok: false,
      message: `CONFIDENTIAL_PORT is \`${env.CONFIDENTIAL_PORT}\`: it takes another port than CONTROL_PORT`,
    };
  }
  const isProduction = env.NODE_ENV === 'production';
  if (isProduction && env.ATTESTATION === 'simulated') {
    const message = 'ATTESTATION is `simulated` with NODE_ENV=production: it takes auto, configfs, dstack or off there';
    return { ok: false, message };
  }
  return {
    ok: true,
    config: {
      host: env.HOST,
      controlPort: env.CONTROL_PORT,
      metricsPort: env.METRICS_PORT,
      traces: setting.readTraces(env),
      confidentialPort: env.CONFIDENTIAL_PORT,
      controlOrigin: env.CONTROL_ORIGIN,
      confidentialOrigin: env.CONFIDENTIAL_ORIGIN,
      dataDir: resolve(env.SOTTO_DATA_DIR ?? join(projectDir, '.sotto')),
      databaseUrl: env.DATABASE_URL,
      redisUrl: env.REDIS_URL,
      catalogFile: env.CATALOG_FILE,
      providersFile: env.PROVIDERS_FILE,
      media: { image: env.IMAGE_GENERATION === 'on', speech: env.SPEECH_SYNTHESIS === 'on' },
      connectedApps: env.CONNECTED_APPS === 'on',
      ticketTtlMs: env.TICKET_TTL_S * 1000,
      limits: { requests: env.RATE_LIMIT_REQUESTS, tokens: env.RATE_LIMIT_TOKENS, control: env.RATE_LIMIT_CONTROL },
      // Whoever says that this is production is shown no evidence that proves nothing.
      attestation: isProduction && env.ATTESTATION === 'auto' ? 'off' : env.ATTESTATION,
      logLevel: env.LOG_LEVEL,
      billing: billing.settings,
      billingEnvironment: Object.fromEntries(
        billingVariables.map((name) => [name, environment[name] || (name === 'BILLING_TEST_RAIL' ? testRail : '')]),
      ),
      signIn: signIn.settings,
      signInEnvironment: Object.fromEntries(signInVariables.map((name) => [name, environment[name] ?? ''])),
      givenSecrets: {
        TICKET_SEALING_KEY: env.TICKET_SEALING_KEY,
        ACCOUNT_REF_KEY: env.ACCOUNT_REF_KEY,
        SETTLEMENT_MAC_KEY: env.SETTLEMENT_MAC_KEY,
        SESSION_SECRET: env.SESSION_SECRET,
      },
    },
  };
}
