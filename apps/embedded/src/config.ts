import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { readBillingSettings, readCreditKeysFile, readSignInSettings } from '@sotto/control';
import { type Environment, readSettings, type Settings, type SettingsOf, settingsSchemas } from '@sotto/server';
import * as z from 'zod';
import { keep, readKept } from './kept-file.ts';

/** The settings of `npm start`, by their variables. */
export interface EmbeddedConfig extends SettingsOf<'start'> {
  readonly dataDir: string;
  /** The settings as they were given. The planes read theirs of them. */
  readonly given: Environment;
}

const secretNames = ['TICKET_SEALING_KEY', 'ACCOUNT_REF_KEY', 'SETTLEMENT_MAC_KEY', 'SESSION_SECRET'] as const;

/** Without a real rail, the test rail is on, unless nothing is for sale. Beside a real rail, it must be enabled explicitly. */
const testRailOf = (environment: Environment): 'on' | 'off' =>
  environment.BILLING === 'none' || environment.STRIPE_SECRET_KEY || environment.BTCPAY_URL ? 'off' : 'on';

/** Reads the environment. On failure, returns one line that says what is wrong. */
export function readConfig(environment: Environment, projectDir: string): Settings<EmbeddedConfig> {
  const read = readSettings(settingsSchemas.start, environment);
  if (!read.ok) return read;
  const env = read.settings;
  const testRail = testRailOf(environment);
  const billing = readBillingSettings(environment, { testRail });
  if (!billing.ok) return billing;
  const signIn = readSignInSettings(environment);
  if (!signIn.ok) return signIn;
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
    settings: {
      ...env,
      // In production, evidence that proves nothing would mislead clients.
      ATTESTATION: isProduction && env.ATTESTATION === 'auto' ? 'off' : env.ATTESTATION,
      BILLING_TEST_RAIL: env.BILLING_TEST_RAIL ?? testRail,
      dataDir: resolve(env.SOTTO_DATA_DIR ?? join(projectDir, '.sotto')),
      given: environment,
    },
  };
}

export type Secrets = Readonly<Record<(typeof secretNames)[number], string>>;

const keptSchema = z.partialRecord(z.enum(secretNames), z.string());

/** Loads the secrets: from the environment, else from the data directory, else generates them. */
export async function loadSecrets({ dataDir, given }: EmbeddedConfig): Promise<Secrets> {
  const file = join(dataDir, 'secrets.json');
  const kept = keptSchema.parse((await readKept(file)) ?? {});
  const all = Object.fromEntries(secretNames.map((name) => [name, kept[name] ?? randomBytes(32).toString('base64')]));
  if (secretNames.some((name) => kept[name] === undefined)) await keep(file, all);
  return z.record(z.enum(secretNames), z.string()).parse({
    ...all,
    ...Object.fromEntries(secretNames.flatMap((name) => (given[name] ? [[name, given[name]]] : []))),
  });
}
