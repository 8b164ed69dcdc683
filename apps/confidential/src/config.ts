import type { BlockList } from 'node:net';
import type { AttestationMode } from '@sotto/attestation/producers';
import type { MediaSwitches } from '@sotto/router';
import {
  brokerEarlySchema,
  type Environment,
  type KeeperPlace,
  type Leave,
  readBrokerSettings,
  readKeeperPlace,
  readSettings,
  setting,
  type TlsConfig,
  type TrustProxy,
} from '@sotto/server';
import type { Keys } from '@sotto/state';
import type { z } from 'zod';
import type { StreamPacing } from './answers/keep-alive.ts';

/** The settings that the broker needs to prove itself and to get its secrets. */
export interface EarlyConfig {
  /** Undefined: the secrets are in the environment. */
  readonly keeper: KeeperPlace | undefined;
  readonly attestation: AttestationMode;
  /** A mirror of Intel's service for collateral, without a trailing slash. Undefined: Intel. */
  readonly collateralUrl: string | undefined;
  readonly providersFile: string | undefined;
  readonly logLevel: string;
  /** True with NODE_ENV=production. Redis must then keep every write that it has acknowledged. */
  readonly isProduction: boolean;
}

/** The broker's settings. Secrets are kept apart, so that the rest may be shown. */
export interface BrokerConfig extends EarlyConfig {
  readonly host: string;
  readonly port: number;
  /** Whether other brokers of this host listen on the same port. The kernel spreads connections over them. */
  readonly sharesPort: boolean;
  readonly redisUrl: string;
  readonly media: MediaSwitches;
  /** The public address of this broker, without a path. */
  readonly origin: string;
  readonly tls: TlsConfig;
  /** Whether requests must name this machine: there is no TLS, and the broker listens on more than loopback. */
  readonly isForLoopback: boolean;
  /** File in which the image states what it was built from. */
  readonly provenanceFile: string | undefined;
  /** Undefined: no metrics are served. */
  readonly metricsPort: number | undefined;
  /** The bytes of memory that requests may hold because of their bodies. Undefined: by the memory of the process. */
  readonly requestMemory: number | undefined;
  readonly pacing: StreamPacing;
  readonly trustProxy: TrustProxy;
  /** Balancers that name their clients by the PROXY protocol. Undefined: none. */
  readonly proxies: BlockList | undefined;
  /** How the broker drains at SIGTERM. */
  readonly drain: Leave;
  /** Undefined: nothing is traced. */
  readonly traces: { readonly url: string; readonly ratio: number } | undefined;
  readonly secrets: { readonly ticketSealingKey: Keys; readonly settlementMacKey: Buffer };
}

export type ConfigResult<Config = BrokerConfig> =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly message: string };

/** Reads the settings that do not wait for secrets. A problem is returned as one line. */
export function readEarlyConfig(environment: Environment): ConfigResult<EarlyConfig> {
  const read = readSettings(brokerEarlySchema, environment);
  if (!read.ok) return read;
  const keeper = readKeeperPlace(read.settings);
  return keeper.ok ? { ok: true, config: earlyOf(read.settings, keeper.settings) } : keeper;
}

const earlyOf = (env: z.infer<typeof brokerEarlySchema>, keeper: KeeperPlace | undefined): EarlyConfig => ({
  keeper,
  attestation: env.ATTESTATION,
  collateralUrl: env.ATTESTATION_COLLATERAL_URL,
  providersFile: env.PROVIDERS_FILE,
  logLevel: env.LOG_LEVEL,
  isProduction: env.NODE_ENV === 'production',
});

/** Reads the environment. A problem is returned as one line. */
export function readConfig(environment: Environment): ConfigResult {
  const read = readBrokerSettings(environment);
  if (!read.ok) return read;
  const { env, keeper, tls, origin } = read.settings;
  return {
    ok: true,
    config: Object.freeze({
      ...earlyOf(env, keeper),
      host: env.HOST,
      port: env.CONFIDENTIAL_PORT,
      sharesPort: env.CONFIDENTIAL_SHARE_PORT === 'on',
      requestMemory: env.REQUEST_MEMORY_MIB === undefined ? undefined : env.REQUEST_MEMORY_MIB * 1024 * 1024,
      pacing: {
        keepAliveMs: env.STREAM_KEEPALIVE_S === 0 ? undefined : env.STREAM_KEEPALIVE_S * 1000,
        headersAfterMs: env.STREAM_HEADERS_AFTER_S === 0 ? undefined : env.STREAM_HEADERS_AFTER_S * 1000,
      },
      redisUrl: env.REDIS_URL,
      media: { image: env.IMAGE_GENERATION === 'on', speech: env.SPEECH_SYNTHESIS === 'on' },
      origin,
      tls,
      isForLoopback: tls.kind === 'off' && !setting.isLoopback(env.HOST),
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
