import type * as z from 'zod';
import * as kinds from './kinds.ts';
import { type Environment, readSettings, type Settings } from './read-settings.ts';
import { brokerEarlySchema, type SettingsOf, settingsSchemas } from './table.ts';

export type TlsConfig =
  | { readonly kind: 'off' }
  | { readonly kind: 'files'; readonly certFile: string; readonly keyFile: string }
  | { readonly kind: 'self'; readonly authority?: AuthorityFiles };

/** The files for our certificate requests and for an authority's certificates. */
export interface AuthorityFiles {
  readonly requestFile: string;
  readonly certFile: string;
  /** Keeps the key over restarts. Undefined: the key stays in memory, and each start makes another. */
  readonly keptKeyFile?: string | undefined;
}

/** The service that releases secrets to brokers that prove themselves. */
export interface KeeperPlace {
  readonly origin: string;
  readonly caFile: string;
}

/** The settings that the broker needs to prove itself and to get its secrets. */
export type EarlyConfig = Readonly<z.output<typeof brokerEarlySchema>> & {
  /** Undefined: the secrets are in the environment. */
  readonly keeper: KeeperPlace | undefined;
};

type Own = Omit<SettingsOf<'broker'>, 'REDIS_URL'>;

/** The broker's settings, by their variables, and what several of them say together. */
export interface BrokerConfig extends Own, Pick<EarlyConfig, 'keeper'> {
  readonly tls: TlsConfig;
  /** The public address of the broker, without a path. */
  readonly origin: string;
  /** Whether requests must name this machine: there is no TLS, and the broker listens on more than loopback. */
  readonly isForLoopback: boolean;
}

/** Reads the settings that do not wait for secrets. A problem is returned as one line. */
export function readEarlyConfig(environment: Environment): Settings<EarlyConfig> {
  const read = readSettings(brokerEarlySchema, environment);
  if (!read.ok) return read;
  const keeper = readKeeperPlace(read.settings);
  return keeper.ok ? { ok: true, settings: { ...read.settings, keeper: keeper.settings } } : keeper;
}

/** Reads the settings of a broker and judges them together. A problem is returned as one line. */
export function readBrokerConfig(environment: Environment): Settings<BrokerConfig & SettingsOf<'broker'>> {
  const read = readSettings(settingsSchemas.broker, environment);
  return read.ok ? judge(read.settings) : read;
}

/** The same for a broker that shares its process, and so its state, with control. */
export function readBrokerConfigWithoutRedis(environment: Environment): Settings<BrokerConfig> {
  const read = readSettings(settingsSchemas.broker.omit({ REDIS_URL: true }), environment);
  return read.ok ? judge(read.settings) : read;
}

function judge<Read extends Own>(env: Read): Settings<Read & BrokerConfig> {
  const refused = (message: string) => ({ ok: false, message }) as const;
  const keeper = readKeeperPlace(env);
  if (!keeper.ok) return keeper;
  const tls = readTls(env);
  if (typeof tls === 'string') return refused(tls);
  const scheme = tls.kind === 'off' ? 'http' : 'https';
  const host = env.HOST.includes(':') ? `[${env.HOST}]` : env.HOST;
  const origin = env.CONFIDENTIAL_ORIGIN ?? `${scheme}://${host}:${env.CONFIDENTIAL_PORT}`;
  const isForLoopback = tls.kind === 'off' && !kinds.isLoopback(env.HOST);
  if (tls.kind !== 'off' && env.CONFIDENTIAL_ORIGIN === undefined && !kinds.isLoopback(env.HOST)) {
    return refused(
      'CONFIDENTIAL_ORIGIN is not set. Set it to the public address of this broker, such as https://api.example.com; the certificate and the evidence name it',
    );
  }
  if (new URL(origin).protocol !== `${scheme}:` && tls.kind !== 'off') {
    return refused(`CONFIDENTIAL_ORIGIN is \`${origin}\`. With TLS it must be one that begins with https://`);
  }
  if (env.PROXY_PROTOCOL !== undefined && env.TRUST_PROXY !== false) {
    return refused(
      'PROXY_PROTOCOL and TRUST_PROXY are both set. Set only one: PROXY_PROTOCOL if this broker terminates TLS',
    );
  }
  if (tls.kind === 'off' && env.PROXY_PROTOCOL !== undefined) {
    return refused(
      'PROXY_PROTOCOL is set while CONFIDENTIAL_TLS is `off`. It needs TLS in the broker; unset it, or use TRUST_PROXY',
    );
  }
  return { ok: true, settings: Object.freeze({ ...env, keeper: keeper.settings, tls, origin, isForLoopback }) };
}

/** Reads where the keeper is. Undefined: the secrets are in the environment. */
function readKeeperPlace({
  KEEPER_ORIGIN: origin,
  KEEPER_CA_FILE: caFile,
}: Pick<Own, 'KEEPER_ORIGIN' | 'KEEPER_CA_FILE'>): Settings<KeeperPlace | undefined> {
  if (origin !== undefined && caFile !== undefined) return { ok: true, settings: { origin, caFile } };
  if (origin === caFile) return { ok: true, settings: undefined };
  const [given, missing] =
    origin === undefined ? ['KEEPER_CA_FILE', 'KEEPER_ORIGIN'] : ['KEEPER_ORIGIN', 'KEEPER_CA_FILE'];
  return {
    ok: false,
    message: `${given} is set without ${missing}. Set ${missing} to the ${origin === undefined ? 'address of the keeper' : 'certificates of the authorities that may sign the keeper’s certificate'}`,
  };
}

/** Combines the TLS settings. Returns a message if they contradict each other. */
function readTls(env: Own): TlsConfig | string {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_REQUEST_FILE: requestFile } = env;
  const { TLS_KEPT_KEY_FILE: keptKeyFile } = env;
  switch (env.CONFIDENTIAL_TLS) {
    case 'off':
      return kinds.isLoopback(env.HOST) || isLoopbackOrigin(env.CONFIDENTIAL_ORIGIN)
        ? { kind: 'off' }
        : `CONFIDENTIAL_TLS is \`off\` while HOST is \`${env.HOST}\`. Without TLS the broker needs a CONFIDENTIAL_ORIGIN on loopback, such as http://localhost:4001`;
    case 'files':
      return certFile === undefined || keyFile === undefined
        ? 'CONFIDENTIAL_TLS is `files`. Set TLS_CERT_FILE and TLS_KEY_FILE with it'
        : { kind: 'files', certFile, keyFile };
    case 'self':
      if (keyFile !== undefined)
        return 'CONFIDENTIAL_TLS is `self`, so the broker generates its own key. Unset TLS_KEY_FILE';
      if (requestFile === undefined && certFile === undefined && keptKeyFile === undefined) return { kind: 'self' };
      return requestFile === undefined || certFile === undefined
        ? 'CONFIDENTIAL_TLS is `self`. To use certificates of an authority, set both TLS_REQUEST_FILE and TLS_CERT_FILE'
        : { kind: 'self', authority: { requestFile, certFile, keptKeyFile } };
  }
}

/** Whether an origin is `http` and leads to the machine that asks. */
function isLoopbackOrigin(origin: string | undefined): boolean {
  const url = origin === undefined ? null : URL.parse(origin);
  return url?.protocol === 'http:' && kinds.isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
}
