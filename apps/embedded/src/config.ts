import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { AttestationMode, BrokerOptions } from '@sotto/confidential';
import {
  type BillingSettings,
  readBillingSettings,
  readCreditKeysFile,
  readMaxima,
  readSignInSettings,
  type SignInSettings,
} from '@sotto/control';
import { billingSchema, type Environment, readSettings, setting, settingsSchemas, signInSchema } from '@sotto/server';
import { z } from 'zod';
import type { LocalModels } from './files/local-servers.ts';
import { keep, readKept } from './kept-file.ts';
import type { LogFormat } from './log.ts';

/** Configuration of embedded mode. */
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
  readonly localModels: LocalModels;
  readonly media: BrokerOptions['media'];
  readonly connectedApps: boolean;
  /** The keys of anonymous wallets. Undefined: they are off. */
  readonly creditKeysFile: string | undefined;
  readonly ticketTtlMs: number;
  readonly usageRetention: number | undefined;
  readonly limits: { readonly requests: number; readonly tokens: number; readonly control: number };
  readonly maxima: ReturnType<typeof readMaxima>;
  /** Undefined: no metrics are served. With two processes, the broker uses the next port. */
  readonly metricsPort: number | undefined;
  /** Undefined: nothing is traced. */
  readonly traces: { readonly url: string; readonly ratio: number } | undefined;
  readonly attestation: AttestationMode;
  readonly logLevel: string;
  readonly logFormat: LogFormat;
  /** Whether the demo account gets a month of usage to look at. */
  readonly seedsUsage: boolean;
  readonly billing: BillingSettings;
  /** The same settings as variables, for control in its own process. */
  readonly billingEnvironment: Readonly<Record<string, string>>;
  readonly signIn: SignInSettings;
  /** The same settings as variables, for control in its own process. */
  readonly signInEnvironment: Readonly<Record<string, string>>;
  /** Secrets from the environment. The others are generated and kept in the data directory. */
  readonly givenSecrets: Readonly<Record<SecretName, string | undefined>>;
}

const secretNames = ['TICKET_SEALING_KEY', 'ACCOUNT_REF_KEY', 'SETTLEMENT_MAC_KEY', 'SESSION_SECRET'] as const;
type SecretName = (typeof secretNames)[number];

export type ConfigResult =
  | { readonly ok: true; readonly config: EmbeddedConfig }
  | { readonly ok: false; readonly message: string };

/** Without a real rail, the test rail is on, unless nothing is for sale. Beside a real rail, it must be enabled explicitly. */
const testRailOf = (environment: Environment): 'on' | 'off' =>
  environment.BILLING === 'none' || environment.STRIPE_SECRET_KEY || environment.BTCPAY_URL ? 'off' : 'on';

/** Reads the environment. On failure, returns one line that says what is wrong. */
export function readConfig(environment: Environment, projectDir: string): ConfigResult {
  const read = readSettings(settingsSchemas.start, environment);
  if (!read.ok) return read;
  const testRail = testRailOf(environment);
  const billing = readBillingSettings(environment, { testRail });
  if (!billing.ok) return billing;
  const signIn = readSignInSettings(environment, { signUp: 'open' });
  if (!signIn.ok) return signIn;
  const env = read.settings;
  const creditKeys = readCreditKeysFile(env, billing.settings);
  if (!creditKeys.ok) return creditKeys;
  if (env.CONTROL_PORT !== 0 && env.CONTROL_PORT === env.CONFIDENTIAL_PORT) {
    return {
      ok: false,
      message: `CONFIDENTIAL_PORT is \`${env.CONFIDENTIAL_PORT}\`, like CONTROL_PORT. Use two different ports`,
    };
  }
  if (env.METRICS_PORT === 65_535 && env.REDIS_URL !== undefined) {
    return {
      ok: false,
      message: 'METRICS_PORT is `65535`: with REDIS_URL, the broker uses the port after it. Use a lower one',
    };
  }
  const isProduction = env.NODE_ENV === 'production';
  if (isProduction && env.ATTESTATION === 'simulated') {
    const message =
      'ATTESTATION is `simulated` with NODE_ENV=production. In production, use auto, configfs, dstack or off';
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
      localModels: env.LOCAL_MODELS,
      media: { image: env.IMAGE_GENERATION === 'on', speech: env.SPEECH_SYNTHESIS === 'on' },
      connectedApps: env.CONNECTED_APPS === 'on',
      creditKeysFile: creditKeys.settings,
      ticketTtlMs: env.TICKET_TTL_S * 1000,
      usageRetention: env.USAGE_RETENTION_MONTHS,
      limits: { requests: env.RATE_LIMIT_REQUESTS, tokens: env.RATE_LIMIT_TOKENS, control: env.RATE_LIMIT_CONTROL },
      maxima: readMaxima(env),
      // In production, evidence that proves nothing would mislead clients.
      attestation: isProduction && env.ATTESTATION === 'auto' ? 'off' : env.ATTESTATION,
      logLevel: env.LOG_LEVEL,
      logFormat: env.LOG_FORMAT,
      seedsUsage: env.SOTTO_SEED_USAGE === 'on',
      billing: billing.settings,
      billingEnvironment: Object.fromEntries(
        Object.keys(billingSchema.shape).map((name) => [
          name,
          environment[name] || (name === 'BILLING_TEST_RAIL' ? testRail : ''),
        ]),
      ),
      signIn: signIn.settings,
      signInEnvironment: {
        ...Object.fromEntries(Object.keys(signInSchema.shape).map((name) => [name, environment[name] ?? ''])),
        SIGN_UP: signIn.settings.signUp.mode ?? 'open',
      },
      givenSecrets: {
        TICKET_SEALING_KEY: env.TICKET_SEALING_KEY,
        ACCOUNT_REF_KEY: env.ACCOUNT_REF_KEY,
        SETTLEMENT_MAC_KEY: env.SETTLEMENT_MAC_KEY,
        SESSION_SECRET: env.SESSION_SECRET,
      },
    },
  };
}

export type Secrets = Readonly<Record<SecretName, string>>;

const keptSchema = z.partialRecord(z.enum(secretNames), z.string());

/** Loads the secrets: from the environment, else from the data directory, else generates them. */
export async function loadSecrets({ dataDir, givenSecrets }: EmbeddedConfig): Promise<Secrets> {
  const file = join(dataDir, 'secrets.json');
  const kept = keptSchema.parse((await readKept(file)) ?? {});
  const all = Object.fromEntries(secretNames.map((name) => [name, kept[name] ?? randomBytes(32).toString('base64')]));
  if (secretNames.some((name) => kept[name] === undefined)) await keep(file, all);
  return z.record(z.enum(secretNames), z.string()).parse({
    ...all,
    ...Object.fromEntries(Object.entries(givenSecrets).filter(([, value]) => value !== undefined)),
  });
}
