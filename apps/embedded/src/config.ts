import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { AttestationMode, BrokerOptions } from '@sotto/confidential';
import {
  type BillingSettings,
  billingSchema,
  billingVariables,
  maximumSettings,
  readBillingSettings,
  readCreditKeysFile,
  readMaxima,
  readSignInSettings,
  type SignInSettings,
  signInSchema,
  signInVariables,
  walletSettings,
} from '@sotto/control';
import { attestationModes, type Environment, readSettings, setting } from '@sotto/server';
import { z } from 'zod';
import type { LocalModels } from './files/local-servers.ts';
import { keep, readKept } from './kept-file.ts';
import type { LogFormat } from './log.ts';

export const environmentSchema = z.object({
  CONTROL_PORT: setting.port(4000),
  CONFIDENTIAL_PORT: setting.port(4001),
  HOST: z
    .enum(setting.loopbackHosts, { error: 'takes a loopback address in embedded mode: 127.0.0.1, ::1 or localhost' })
    .default('127.0.0.1')
    .describe('Address that both processes listen on.'),
  CONTROL_ORIGIN: setting.origin.optional(),
  CONFIDENTIAL_ORIGIN: setting.origin
    .optional()
    .describe('Public address of the broker. The default is made from `HOST` and `CONFIDENTIAL_PORT`.'),
  SOTTO_DATA_DIR: setting.file
    .optional()
    .describe(
      'Directory for the database, the generated secrets and the demo account. The default is `.sotto` in the project.',
    ),
  DATABASE_URL: setting.postgresUrl
    .optional()
    .describe('PostgreSQL 15 or later. The default is a packaged PostgreSQL in the data directory.'),
  REDIS_URL: setting.redisUrl
    .optional()
    .describe(
      'Redis 7 or Valkey. If set, control and the broker run as two processes. The default keeps the state in memory.',
    ),
  CATALOG_FILE: setting.file.optional(),
  PROVIDERS_FILE: setting.file.optional(),
  LOCAL_MODELS: z
    .string()
    .transform((text, context) => {
      const where = readLocalModels(text);
      if (where === undefined) context.addIssue({ code: 'custom', message: localModelsTakes });
      return where ?? z.NEVER;
    })
    .default('auto')
    .describe(
      'Where to look for model servers of this machine (Ollama, LM Studio, llama.cpp, vLLM): `auto` tries their usual ports, `off` none. Or addresses such as `http://127.0.0.1:8001`, with commas between them.',
    ),
  IMAGE_GENERATION: setting.onOff.default('on'),
  SPEECH_SYNTHESIS: setting.onOff.default('on'),
  CONNECTED_APPS: setting.onOff.default('off'),
  ...walletSettings,
  TICKET_TTL_S: setting.count('a number of seconds from 1 to 3600', 3600).default(300),
  USAGE_RETENTION_MONTHS: setting.count('a number of months from 1 to 1200', 1200).optional(),
  TICKET_SEALING_KEY: setting.keyText
    .optional()
    .describe('Encrypts tickets. The default is generated and kept in the data directory.'),
  ACCOUNT_REF_KEY: setting.keyText
    .optional()
    .describe('Encrypts references to accounts. The default is generated and kept in the data directory.'),
  SETTLEMENT_MAC_KEY: setting.keyText
    .optional()
    .describe('Authenticates settlements. The default is generated and kept in the data directory.'),
  SESSION_SECRET: setting.sessionSecret
    .optional()
    .describe('Signs session cookies. The default is generated and kept in the data directory.'),
  RATE_LIMIT_REQUESTS: setting.count('a number of requests per minute').default(600),
  RATE_LIMIT_TOKENS: setting.count('a number of tokens per minute').default(2_000_000),
  RATE_LIMIT_CONTROL: setting.count('a number of requests per minute').default(600),
  ...maximumSettings,
  CONFIDENTIAL_TLS: z
    .literal('off', { error: 'takes `off` in embedded mode, which listens on loopback only' })
    .default('off')
    .describe('Only `off`: both listeners are on loopback.'),
  ATTESTATION: z
    .enum(attestationModes, { error: `takes ${attestationModes.join(', ')}` })
    .default('auto')
    .describe('Source of the evidence about this broker. With `NODE_ENV=production`, `auto` means `off`.'),
  METRICS_PORT: setting.portOrOff.describe(
    'Port for Prometheus metrics. With `REDIS_URL`, the broker uses the port after it.',
  ),
  ...setting.traces,
  LOG_LEVEL: setting.logLevel.default('warn'),
  SOTTO_SEED_USAGE: setting.onOff.default('off').describe('Gives the demo account a month of usage, for development.'),
  LOG_FORMAT: z
    .enum(['text', 'json'], { error: 'takes `text` or `json`' })
    .default('text')
    .describe('Format of the log: text for people, or JSON lines.'),
  NODE_ENV: z.string().optional().describe('With `production`, evidence is never simulated.'),
});

/** Every setting that `npm start` reads. */
export const settingsSchema = z.object({
  ...environmentSchema.shape,
  ...billingSchema.shape,
  ...signInSchema.shape,
});

const localModelsTakes =
  'takes `auto`, `off` or addresses of this machine such as http://127.0.0.1:8001, with commas between them';

function readLocalModels(text: string): LocalModels | undefined {
  if (text === 'auto' || text === 'off') return text;
  const urls = text.split(',').map((each) => each.trim());
  const isLocal = (url: string): boolean =>
    URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && loopback.has(new URL(url).hostname);
  return urls.every(isLocal) ? urls : undefined;
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

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
  const read = readSettings(environmentSchema, environment);
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
        billingVariables.map((name) => [name, environment[name] || (name === 'BILLING_TEST_RAIL' ? testRail : '')]),
      ),
      signIn: signIn.settings,
      signInEnvironment: {
        ...Object.fromEntries(signInVariables.map((name) => [name, environment[name] ?? ''])),
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
