import {
  type Environment,
  readSettings,
  type Settings,
  type SettingsOf,
  setting,
  settingsSchemas,
} from '@sotto/server';
import { type BillingSettings, readBillingSettings } from './billing/billing-settings.ts';
import { readSignInSettings, type SignInSettings } from './sessions/sign-in-settings.ts';
import { readCreditKeysFile } from './wallets/issuer.ts';

type Own = Omit<SettingsOf<'control'>, 'REDIS_URL'>;

/** Control's settings, by their variables, and what several of them say together. */
export interface ControlConfig extends Own {
  readonly origin: string;
  readonly confidentialOrigin: string;
  /** The keys of anonymous wallets. Undefined: they are off. */
  readonly creditKeysFile: string | undefined;
  readonly billing: BillingSettings;
  readonly signIn: SignInSettings;
}

const allAddresses: ReadonlySet<string> = new Set(['0.0.0.0', '[::]', '[::ffff:0:0]']);

/** Reads the environment. On failure, returns one line. */
export function readConfig(environment: Environment): Settings<ControlConfig & SettingsOf<'control'>> {
  const read = readSettings(settingsSchemas.control, environment);
  return read.ok ? judge(read.settings, environment) : read;
}

/** The same for a control that shares its process, and so its state, with the broker. */
export function readConfigWithoutRedis(environment: Environment): Settings<ControlConfig> {
  const read = readSettings(settingsSchemas.control.omit({ REDIS_URL: true }), environment);
  return read.ok ? judge(read.settings, environment) : read;
}

function judge<Read extends Own>(env: Read, environment: Environment): Settings<Read & ControlConfig> {
  const billing = readBillingSettings(environment, { testRail: 'off' });
  if (!billing.ok) return billing;
  const signIn = readSignInSettings(environment);
  if (!signIn.ok) return signIn;
  const same = rotatedSecrets.find((name) => environment[name] && environment[name] === environment[`OTHER_${name}`]);
  if (same !== undefined) {
    return {
      ok: false,
      message: `OTHER_${same} is the same as ${same}: it takes the one that replaces it, or was replaced`,
    };
  }
  const creditKeys = readCreditKeysFile(env, billing.settings);
  if (!creditKeys.ok) return creditKeys;
  const scheme = env.CONFIDENTIAL_TLS === 'off' ? 'http' : 'https';
  return {
    ok: true,
    settings: Object.freeze({
      ...env,
      origin: controlOriginOf(env),
      confidentialOrigin: env.CONFIDENTIAL_ORIGIN ?? `${scheme}://${localHost(env.HOST)}:${env.CONFIDENTIAL_PORT}`,
      creditKeysFile: creditKeys.settings,
      billing: billing.settings,
      signIn: signIn.settings,
    }),
  };
}

const rotatedSecrets = ['ACCOUNT_REF_KEY', 'SETTLEMENT_MAC_KEY', 'SESSION_SECRET'] as const;

/** The public origin of control, of settings or their defaults. */
const controlOriginOf = (env: Pick<Own, 'CONTROL_ORIGIN' | 'HOST' | 'CONTROL_PORT'>): string =>
  env.CONTROL_ORIGIN ?? `http://${localHost(env.HOST)}:${env.CONTROL_PORT}`;

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
    settingsSchemas.control.pick({ CONTROL_ORIGIN: true, HOST: true, CONTROL_PORT: true }),
    environment,
  );
  if (!read.ok) return read;
  const signIn = readSignInSettings(environment);
  if (!signIn.ok) return signIn;
  return { ok: true, settings: { origin: controlOriginOf(read.settings), signIn: signIn.settings } };
}

/** Reads the setting that commands without a server need. */
export const readDatabaseUrl = (environment: Environment): Settings<{ DATABASE_URL: string }> =>
  readSettings(settingsSchemas.control.pick({ DATABASE_URL: true }), environment);

/** Reads the settings of the audit. Without Redis, it audits only the ledger. */
export const readAuditUrls = (
  environment: Environment,
): Settings<{ DATABASE_URL: string; REDIS_URL?: string | undefined }> =>
  readSettings(
    settingsSchemas.control.pick({ DATABASE_URL: true }).extend({ REDIS_URL: setting.redisUrl.optional() }),
    environment,
  );
