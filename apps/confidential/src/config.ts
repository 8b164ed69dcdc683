import type { BlockList } from 'node:net';
import { type AttestationMode, attestationModes } from '@sotto/attestation/producers';
import type { Leave } from '@sotto/http';
import type { MediaSwitches } from '@sotto/router';
import { type Environment, readSettings, setting, type TrustProxy } from '@sotto/settings';
import type { Keys } from '@sotto/state';
import { z } from 'zod';

const tlsError =
  'takes `self` (a key made inside), `files` (with TLS_CERT_FILE and TLS_KEY_FILE) or `off` (loopback only)';

const attestationError = `takes ${attestationModes.slice(0, -1).join(', ')} or off`;

/** What has to be known before there are secrets. */
const earlySchema = z.object({
  KEEPER_ORIGIN: setting.httpsOrigin.optional(),
  KEEPER_CA_FILE: setting.file.optional(),
  ATTESTATION: z.enum(attestationModes, { error: attestationError }).default('auto'),
  ATTESTATION_COLLATERAL_URL: setting.baseUrl.optional(),
  PROVIDERS_FILE: setting.file.optional(),
  LOG_LEVEL: setting.logLevel.default('info'),
  NODE_ENV: z.string().optional(),
});

const environmentSchema = z.object({
  ...earlySchema.shape,
  CONFIDENTIAL_PORT: setting.port(4001),
  HOST: z.string().default('0.0.0.0'),
  REDIS_URL: setting.redisUrl,
  IMAGE_GENERATION: setting.onOff.default('off'),
  SPEECH_SYNTHESIS: setting.onOff.default('off'),
  TICKET_SEALING_KEY: setting.keyText,
  OTHER_TICKET_SEALING_KEY: setting.keyText.optional(),
  SETTLEMENT_MAC_KEY: setting.keyText,
  CONFIDENTIAL_SHARE_PORT: setting.onOff.default('off'),
  CONFIDENTIAL_ORIGIN: setting.origin.optional(),
  CONFIDENTIAL_TLS: z.enum(['self', 'files', 'off'], { error: tlsError }).default('self'),
  TLS_CERT_FILE: setting.file.optional(),
  TLS_KEY_FILE: setting.file.optional(),
  TLS_REQUEST_FILE: setting.file.optional(),
  PROVENANCE_FILE: setting.file.optional(),
  METRICS_PORT: setting.portOrOff,
  TRUST_PROXY: setting.trustProxy,
  PROXY_PROTOCOL: setting.addresses,
  ...setting.drain,
  ...setting.traces,
});

/** What the broker needs to prove itself, and to get its secrets by that. */
export interface EarlyConfig {
  /** Who releases secrets to brokers that prove themselves; undefined: they are in the environment. */
  readonly keeper: { readonly origin: string; readonly caFile: string } | undefined;
  readonly attestation: AttestationMode;
  /** A mirror of Intel's service for collateral, without a slash at its end; undefined: Intel. */
  readonly collateralUrl: string | undefined;
  readonly providersFile: string | undefined;
  readonly logLevel: string;
  /** With NODE_ENV=production: then Redis must keep what it has answered. */
  readonly isProduction: boolean;
}

/** What the broker runs with; secrets apart, so that the rest may be shown. */
export interface BrokerConfig extends EarlyConfig {
  readonly host: string;
  readonly port: number;
  /** Whether other brokers of this host listen on the same port; the kernel spreads connections over them. */
  readonly sharesPort: boolean;
  readonly redisUrl: string;
  readonly media: MediaSwitches;
  /** The public address of this broker, without a path. */
  readonly origin: string;
  readonly tls: TlsConfig;
  /** What the image says it was built from. */
  readonly provenanceFile: string | undefined;
  /** Undefined: no metrics are served. */
  readonly metricsPort: number | undefined;
  readonly trustProxy: TrustProxy;
  /** Balancers that say by the PROXY protocol whose connection they pass on; undefined: none. */
  readonly proxies: BlockList | undefined;
  /** How it goes at SIGTERM. */
  readonly drain: Leave;
  /** Undefined: nothing is traced. */
  readonly traces: { readonly url: string; readonly ratio: number } | undefined;
  readonly secrets: { readonly ticketSealingKey: Keys; readonly settlementMacKey: Buffer };
}

export type TlsConfig =
  | { readonly kind: 'off' }
  | { readonly kind: 'files'; readonly certFile: string; readonly keyFile: string }
  /** With an authority: where our requests for a certificate go, and where its certificates are found. */
  | { readonly kind: 'self'; readonly authority?: { readonly requestFile: string; readonly certFile: string } };

export type ConfigResult<Config = BrokerConfig> =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly message: string };

/** Reads what does not wait for secrets; what is wrong comes back as one line. */
export function readEarlyConfig(environment: Environment): ConfigResult<EarlyConfig> {
  const read = readSettings(earlySchema, environment);
  if (!read.ok) return read;
  const { KEEPER_ORIGIN: origin, KEEPER_CA_FILE: caFile } = read.settings;
  if ((origin === undefined) === (caFile === undefined)) return { ok: true, config: earlyOf(read.settings) };
  const [given, missing] =
    origin === undefined ? ['KEEPER_CA_FILE', 'KEEPER_ORIGIN'] : ['KEEPER_ORIGIN', 'KEEPER_CA_FILE'];
  return {
    ok: false,
    message: `${given} is set: it takes ${missing} beside it, the ${origin === undefined ? 'address of the keeper' : 'authorities that its certificate may be of'}`,
  };
}

const earlyOf = (env: z.infer<typeof earlySchema>): EarlyConfig => ({
  keeper:
    env.KEEPER_ORIGIN === undefined || env.KEEPER_CA_FILE === undefined
      ? undefined
      : { origin: env.KEEPER_ORIGIN, caFile: env.KEEPER_CA_FILE },
  attestation: env.ATTESTATION,
  collateralUrl: env.ATTESTATION_COLLATERAL_URL,
  providersFile: env.PROVIDERS_FILE,
  logLevel: env.LOG_LEVEL,
  isProduction: env.NODE_ENV === 'production',
});

/** Reads the environment; what is wrong comes back as one line. */
export function readConfig(environment: Environment): ConfigResult {
  const read = readSettings(environmentSchema, environment);
  if (!read.ok) return read;
  const env = read.settings;
  const tls = readTls(env);
  if (typeof tls === 'string') return { ok: false, message: tls };
  const scheme = tls.kind === 'off' ? 'http' : 'https';
  const host = env.HOST.includes(':') ? `[${env.HOST}]` : env.HOST;
  const origin = env.CONFIDENTIAL_ORIGIN ?? `${scheme}://${host}:${env.CONFIDENTIAL_PORT}`;
  if (tls.kind !== 'off' && env.CONFIDENTIAL_ORIGIN === undefined && !setting.isLoopback(env.HOST)) {
    const message =
      'CONFIDENTIAL_ORIGIN is not set: it takes the public address of this broker, such as https://api.example.com, which its certificate and its evidence are for';
    return { ok: false, message };
  }
  if (new URL(origin).protocol !== `${scheme}:` && tls.kind !== 'off') {
    return {
      ok: false,
      message: `CONFIDENTIAL_ORIGIN is \`${origin}\`: with TLS it takes one that begins with https://`,
    };
  }
  if (env.PROXY_PROTOCOL !== undefined && env.TRUST_PROXY !== false) {
    const message =
      'PROXY_PROTOCOL and TRUST_PROXY are both set: with TLS that ends here only the first says whose connection it is';
    return { ok: false, message };
  }
  if (tls.kind === 'off' && env.PROXY_PROTOCOL !== undefined) {
    return { ok: false, message: 'PROXY_PROTOCOL is set while CONFIDENTIAL_TLS is `off`: it comes before TLS' };
  }
  return {
    ok: true,
    config: Object.freeze({
      ...earlyOf(env),
      host: env.HOST,
      port: env.CONFIDENTIAL_PORT,
      sharesPort: env.CONFIDENTIAL_SHARE_PORT === 'on',
      redisUrl: env.REDIS_URL,
      media: { image: env.IMAGE_GENERATION === 'on', speech: env.SPEECH_SYNTHESIS === 'on' },
      origin,
      tls,
      provenanceFile: env.PROVENANCE_FILE,
      metricsPort: env.METRICS_PORT,
      trustProxy: env.TRUST_PROXY,
      proxies: env.PROXY_PROTOCOL,
      drain: setting.readDrain(env),
      traces: setting.readTraces(env),
      secrets: {
        ticketSealingKey: setting.keysOf(env.TICKET_SEALING_KEY, env.OTHER_TICKET_SEALING_KEY),
        settlementMacKey: setting.keyBytes(env.SETTLEMENT_MAC_KEY),
      },
    }),
  };
}

/** What the variables of TLS say together, or what is wrong with them. */
function readTls(env: z.infer<typeof environmentSchema>): TlsConfig | string {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_REQUEST_FILE: requestFile } = env;
  switch (env.CONFIDENTIAL_TLS) {
    case 'off':
      return setting.isLoopback(env.HOST)
        ? { kind: 'off' }
        : `CONFIDENTIAL_TLS is \`off\` while HOST is \`${env.HOST}\`: without TLS the broker listens on loopback only`;
    case 'files':
      return certFile === undefined || keyFile === undefined
        ? 'CONFIDENTIAL_TLS is `files`: it takes TLS_CERT_FILE and TLS_KEY_FILE beside it'
        : { kind: 'files', certFile, keyFile };
    case 'self':
      if (keyFile !== undefined) return 'CONFIDENTIAL_TLS is `self`: the key is made inside, TLS_KEY_FILE is not taken';
      if (requestFile === undefined && certFile === undefined) return { kind: 'self' };
      return requestFile === undefined || certFile === undefined
        ? 'CONFIDENTIAL_TLS is `self`: for certificates of an authority it takes both TLS_REQUEST_FILE and TLS_CERT_FILE'
        : { kind: 'self', authority: { requestFile, certFile } };
  }
}
