import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { verifyProvider } from '@sotto/attestation';
import { providerVendors } from '@sotto/attestation/producers';
import { otherProviderId, parseRegistry, publicRegistry } from '@sotto/router';
import {
  AddressLimit,
  type BrokerConfig,
  type Leave,
  leaveServer,
  openTracing,
  randomId,
  repeat,
  type ServerOptions,
  StartError,
  setting,
} from '@sotto/server';
import { type BrokerState, HoldBook, LeaseKeeper, shardCount } from '@sotto/state';
import { isOwnSecret } from '@sotto/wire';
import type { FileProblem } from '@sotto/yaml';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { KeyCache } from './admission/key-cache.ts';
import { memoryOfProcess, requestMemoryOf } from './admission/request-memory.ts';
import { buildApp } from './app.ts';
import { Deadlines } from './attempts/deadline.ts';
import { brokerEvents } from './events.ts';
import { buildGateway, type GatewayOptions } from './gateway/build-gateway.ts';
import { makeReceiptKey } from './gateway/key-set-keeper.ts';
import { BrokerMetrics } from './metrics/broker-metrics.ts';
import { MeasurementLog } from './planning/measurement-log.ts';
import { SharedView } from './planning/shared-view.ts';
import {
  problemOfForeignRegistry,
  problemOfMeasurement,
  problemOfPlainHttp,
  type RegistryBytes,
  teeObstacle,
} from './providers/check-registry.ts';
import { openProviders, type ProviderSet } from './providers/provider-set.ts';
import type { Enclaves, VerificationEngine } from './tee/enclaves.ts';
import { ProviderDocuments } from './tee/provider-documents.ts';
import { ProviderReceipts } from './tee/provider-receipts.ts';
import { TeeSessions } from './tee/tee-sessions.ts';

export interface BrokerOptions {
  readonly config: BrokerConfig;
  readonly state: BrokerState;
  readonly logger: Logger;
  /** The provider registry that this broker uses. */
  readonly registryFile: RegistryBytes;
  /** The registry inside the image. Default: the built-in one. */
  readonly imageRegistry?: RegistryBytes;
  /** Reads a provider's key from the broker's own environment. */
  readonly providerKey: (name: string) => string | undefined;
  readonly tls?: ServerOptions['tls'];
  /** How this broker attests itself. Undefined: it does not. */
  readonly gateway?: GatewayOptions | undefined;
  /** Verifies providers' enclaves; by default under the vendors' own roots. */
  readonly engine?: VerificationEngine;
  /** Reaches `tee` routes; by default only through enclaves that the engine verified. */
  readonly enclaves?: (providers: ProviderSet) => Enclaves;
  readonly now?: () => number;
  /** Returns a number from 0 inclusive to 1 exclusive. */
  readonly random?: () => number;
}

export interface Broker {
  readonly app: FastifyInstance;
  readonly metrics: BrokerMetrics;
  /** Publishes the registry's public half and begins to follow the shared state. */
  start(): Promise<void>;
  /** Stops admitting, gives running requests `graceMs` to end, and hands every settlement over. */
  drain(leave: Leave): Promise<void>;
}

/** Thrown for an invalid registry file. Its message ends the start, with one line per problem. */
export class RegistryFileError extends StartError {
  constructor(name: string, problems: readonly FileProblem[]) {
    super(problems.map(({ line, message }) => `${name}:${line}: ${message}`).join('\n'));
    this.name = 'RegistryFileError';
  }
}

const refreshMs = 500;
const measureMs = 2_000;
const traceMs = 2_000;
const resendMs = 1_000;
/** One shard after the other, so each is reconciled about once a minute. */
const reconcileMs = 4_000;
const leaseMs = 1_000;
/** While a shard is not open, or this broker has not joined it, check it this often. */
const unsettledMs = 50;

/** Requests for receipts that do not exist, per address. */
const missingReceiptsPerMinute = 600;
/**
 * Heap bytes of one settlement that the ledger has not acknowledged, and the part of the heap that all of them may
 * take.
 */
const pendingBytes = 1024;
const pendingPart = 0.25;

/** Builds a broker. Throws `RegistryFileError`. Opens no port and makes no call before `start`. */
export async function buildBroker(options: BrokerOptions): Promise<Broker> {
  const { config, state, logger, registryFile, now = Date.now, random = Math.random } = options;
  const { imageRegistry = builtInRegistry() } = options;
  const foreign = problemOfForeignRegistry(registryFile, imageRegistry, options.gateway?.producer);
  if (foreign !== undefined) throw new RegistryFileError(registryFile.name, [{ line: 1, message: foreign }]);
  const digest = hash('sha256', registryFile.bytes);
  const parsed = parseRegistry(registryFile.bytes.toString('utf8'), digest, {
    problemOfMeasurement,
    problemOfPlainHttp: (hostname) => problemOfPlainHttp(hostname, options.gateway?.producer),
  });
  if (!parsed.ok) throw new RegistryFileError(registryFile.name, parsed.problems);
  const providers = await openProviders(parsed.value, {
    keyOf: options.providerKey,
    onAddressRefused: (provider) => events.addressRefused({ provider }),
    ca: options.engine?.ca,
  });
  const mostPending = Math.floor((getHeapStatistics().heap_size_limit * pendingPart) / pendingBytes);
  const metrics = new BrokerMetrics({
    openHolds: () => holds.openHolds,
    pendingSettlements: () => holds.size,
    mostPendingSettlements: mostPending,
    unsentSettlements: () => holds.unsent,
    penalties: () => view.penaltyCount,
    teeSessions: () => enclaves.size,
    catalogVersion: () => view.catalog?.version,
  });
  const events = metrics.counting(brokerEvents(logger));
  for (const provider of parsed.value.providers) {
    const { id, listed, api_key_env: variable } = provider;
    if (providers.isAvailable(provider)) metrics.willCall(listed ? id : otherProviderId);
    if (variable !== undefined && !providers.isAvailable(provider))
      events.providerWithoutKey({
        provider: id,
        variable,
        hasOwnSecret: isOwnSecret(options.providerKey(variable) ?? ''),
      });
    const reason = providers.isAvailable(provider) ? teeObstacle(provider) : undefined;
    if (reason !== undefined) events.teeRefused({ provider: provider.id, reason });
  }
  const traces = setting.readTraces(config);
  const tracing =
    traces &&
    openTracing({
      ...traces,
      ...{ service: 'sotto-broker', now },
      onLost: (spans) => events.tracesLost({ spans }),
    });
  const media = setting.readMedia(config);
  const registry = publicRegistry(parsed.value, providers.isAvailable, media);
  const measurements = new MeasurementLog(state, now);
  const engine = options.engine ?? {
    verifyProvider,
    openVendors: () =>
      providerVendors({
        fetch: globalThis.fetch,
        now,
        mirror: config.ATTESTATION_COLLATERAL_URL,
        onExpiring: events.collateralExpiring,
      }),
  };
  const documents = new ProviderDocuments(engine);
  const enclaves = options.enclaves?.(providers) ?? new TeeSessions({ engine, documents, events, now });
  const providerReceipts = new ProviderReceipts({ state, documents });
  const view = new SharedView({ state, registry, measurements, now, onDropped: events.routesDropped });
  const holds = new HoldBook({
    state,
    macKey: config.SETTLEMENT_MAC_KEY,
    // Not the time of day: if that were set back by an hour, every resend would wait an hour longer.
    now: () => performance.now(),
    mostPending,
    onDelayed: (pending) => events.settlementDelayed({ pending }),
  });
  const leases = new LeaseKeeper({ state, declare: (shard) => holds.declarationOf(shard) });
  const keys = new KeyCache(state);
  const receiptKey = makeReceiptKey();
  const gateway =
    options.gateway &&
    buildGateway(options.gateway, { registryDigest: digest, receiptKey: receiptKey.named, events, now });
  const deadlines = new Deadlines();
  let published = false;
  let draining = false;

  const ticketSealingKey = setting.withOther(config.TICKET_SEALING_KEY, config.OTHER_TICKET_SEALING_KEY);
  const admission = { state, holds, keys, view, ticketSealingKey, now, random };
  const app = buildApp({
    tee: { admission, providers, documents, events },
    inference: {
      admission,
      settlement: {
        holds,
        macKey: config.SETTLEMENT_MAC_KEY,
        now,
        onExcess: (route, excessNusd) => events.excess({ route: route.id, excessNusd }),
      },
      providers,
      deadlines,
      pacing: {
        keepAliveMs: secondsOrOff(config.STREAM_KEEPALIVE_S),
        headersAfterMs: secondsOrOff(config.STREAM_HEADERS_AFTER_S),
      },
      enclaves,
      providerReceipts,
      receipts: { state, signer: receiptKey.signer, registryDigest: `sha256:${digest}`, now },
      measurements,
      events,
      meter: metrics,
      traces: tracing,
      now,
      monotonicNow: () => performance.now(),
      randomId,
    },
    receipts: { state, limit: new AddressLimit({ perMinute: missingReceiptsPerMinute, maxAddresses: 10_000, now }) },
    media,
    isReady: async () =>
      !draining && published && view.catalog !== undefined && leases.isSettled && (await state.isReady()),
    requestMemory:
      config.REQUEST_MEMORY_MIB === undefined
        ? requestMemoryOf(memoryOfProcess())
        : config.REQUEST_MEMORY_MIB * 1024 * 1024,
    trustProxy: config.TRUST_PROXY,
    proxies: config.PROXY_PROTOCOL,
    tls: options.tls,
    isForLoopback: config.isForLoopback,
    gateway: gateway?.route,
  });

  const follow = async (): Promise<void> => {
    // Publish again if the state lost everything: control needs the registry before it can project.
    if (!published || (await state.readRegistry()) === undefined) await state.publishRegistry(registry);
    published = true;
    await view.refresh();
  };
  let reconciled = -1;
  const tasks = [
    repeat(refreshMs, follow),
    repeat(measureMs, () => measurements.exchange()),
    ...(tracing === undefined ? [] : [repeat(traceMs, () => tracing.flush())]),
    repeat(resendMs, () => holds.resend()),
    repeat(reconcileMs, async () => {
      reconciled = (reconciled + 1) % shardCount;
      const strays = await holds.reconcile(reconciled);
      if (strays > 0) events.strays({ holds: strays });
    }),
    repeat(leaseMs, async () => {
      await leases.renew();
      if (!leases.isSettled) await new Promise((resolve) => setTimeout(resolve, unsettledMs));
      return !leases.isSettled;
    }),
  ];

  return {
    app,
    metrics,
    async start() {
      await follow().catch(() => {});
      for (const task of tasks) task.start();
      gateway?.upkeep.start();
    },
    async drain(leave) {
      draining = true;
      events.lifecycle('draining');
      await leaveServer(app, { ...leave, breakOff: () => deadlines.shutDown() });
      // Do not wait for a quote that is being made: it binds nothing that outlives this process.
      void gateway?.upkeep.stop();
      for (const task of tasks) await task.stop();
      await measurements.exchange().catch(() => {});
      await tracing?.flush();
      for (let tries = 0; tries < 20 && (await holds.flush()) > 0; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      if (holds.unsent > 0) events.settlementsLost({ settlements: holds.unsent });
      await leases.leave();
      providerReceipts.close();
      await Promise.all([providers.close(), enclaves.close(), documents.close()]);
      events.lifecycle('stopped');
    },
  };
}

/** Returns a time in ms. Undefined for 0, which is off. */
const secondsOrOff = (seconds: number): number | undefined => (seconds === 0 ? undefined : seconds * 1000);

/**
 * Returns the registry that comes with the broker: well-known providers, each enabled once its key is in the
 * environment.
 */
export function builtInRegistry(): RegistryBytes {
  const url = new URL('../providers.yaml', import.meta.url);
  return { name: 'providers.yaml', bytes: readFileSync(url) };
}
