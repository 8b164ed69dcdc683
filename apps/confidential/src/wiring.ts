import { getHeapStatistics } from 'node:v8';
import { verifyProvider } from '@sotto/attestation';
import { providerVendors } from '@sotto/attestation/producers';
import { otherProviderId, publicRegistry } from '@sotto/router';
import {
  AddressLimit,
  type BrokerConfig,
  type Leave,
  leaveServer,
  openMetricsExport,
  openTracing,
  randomId,
  type ServerOptions,
  setting,
  type Tracing,
} from '@sotto/server';
import { type BrokerState, HoldBook, LeaseKeeper } from '@sotto/state';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { KeyCache } from './admission/key-cache.ts';
import { memoryOfProcess, requestMemoryOf } from './admission/request-memory.ts';
import { buildApp } from './app.ts';
import { Deadlines } from './attempts/deadline.ts';
import { type BrokerEvents, brokerEvents } from './events.ts';
import { buildGateway, type GatewayOptions } from './gateway/build-gateway.ts';
import { makeReceiptKey } from './gateway/key-set-keeper.ts';
import type { InferenceDependencies } from './inference/deps.ts';
import { BrokerMetrics } from './metrics/broker-metrics.ts';
import { MeasurementLog } from './planning/measurement-log.ts';
import { SharedView } from './planning/shared-view.ts';
import type { RegistryBytes } from './providers/check-registry.ts';
import { isSame, openProviders, type ProviderSet } from './providers/provider-set.ts';
import { tellOfProviders } from './providers/tell-of-providers.ts';
import { builtInRegistry, type ReadRegistry, RegistryFileError, readRegistry } from './registry-file.ts';
import type { Enclaves, VerificationEngine } from './tee/enclaves.ts';
import { ProviderDocuments } from './tee/provider-documents.ts';
import { ProviderReceipts } from './tee/provider-receipts.ts';
import { TeeSessions } from './tee/tee-sessions.ts';
import { keepUp, type Upkeep } from './upkeep.ts';

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
  /** What the broker can serve now: the number of providers that it can call and of models. Undefined: it is not ready. */
  readiness(): Promise<{ readonly providers: number; readonly models: number } | undefined>;
  /** Publishes the registry's public half and begins to follow the shared state. */
  start(): Promise<void>;
  /** Takes other keys and, if this broker attests nothing, another registry. Throws `RegistryFileError`, and then changes nothing. */
  reload(given: Pick<BrokerOptions, 'registryFile' | 'providerKey'>): Promise<void>;
  /** Stops admitting, gives running requests `graceMs` to end, and hands every settlement over. */
  drain(leave: Leave): Promise<void>;
}

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
  const { registryFile, imageRegistry = builtInRegistry() } = options;
  const registry = readRegistry(registryFile, imageRegistry, options.gateway?.producer);
  const parts = await openParts(options, registry);
  const upkeep = keepUp(parts);
  let isDraining = false;
  const isReady = async (): Promise<boolean> =>
    !isDraining &&
    upkeep.isPublished &&
    parts.view.catalog !== undefined &&
    parts.leases.isSettled &&
    (await parts.state.isReady());
  const app = appOf(parts, options, isReady);
  return {
    app,
    metrics: parts.metrics,
    async readiness() {
      const { catalog } = parts.view;
      if (catalog === undefined || !(await isReady())) return undefined;
      const providers = parts.view.registry.providers.filter(({ available }) => available).length;
      return { providers, models: catalog.models.size };
    },
    async start() {
      await upkeep.start();
      parts.gateway?.upkeep.start();
    },
    async reload(given) {
      await reloadProviders(parts, readRegistry(given.registryFile, imageRegistry, options.gateway?.producer), given);
      upkeep.wake();
    },
    async drain(leave) {
      isDraining = true;
      await drainParts(parts, { app, upkeep, leave });
    },
  };
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** Opens what the broker consists of, each part after those that it needs. */
async function openParts(options: BrokerOptions, read: ReadRegistry) {
  const { config, state, providerKey, now = Date.now, random = Math.random } = options;
  const metrics: BrokerMetrics = openMetrics(() => ({ holds, view, enclaves }));
  const events = metrics.counting(brokerEvents(options.logger));
  const providers = await openProviders(read.providers, {
    keyOf: providerKey,
    onAddressRefused: (provider) => events.addressRefused({ provider }),
    onKeySetAside: (provider, variable, outcome) => events.keySetAside({ provider, variable, outcome }),
    ...{ now, random },
    ca: options.engine?.ca,
  });
  tellOfProviders(read.providers, providers, providerKey, { events, willCall: (id) => metrics.willCall(id) });
  const media = setting.readMedia(config);
  const registry = publicRegistry(read.providers, providers.isAvailable, media);
  const measurements = new MeasurementLog(state, now);
  const view: SharedView = new SharedView({ state, registry, measurements, now, onDropped: events.routesDropped });
  const holds: HoldBook = openHolds(options, events);
  const leases = new LeaseKeeper({ state, declare: (shard) => holds.declarationOf(shard) });
  const engine = options.engine ?? vendorEngine(options, events);
  const documents = new ProviderDocuments(engine);
  const enclaves: Enclaves = options.enclaves?.(providers) ?? new TeeSessions({ engine, documents, events, now });
  const receiptKey = makeReceiptKey();
  const attested = { registryDigest: read.digest, receiptKey: receiptKey.named, events, now };
  return {
    ...{ config, state, now, random, metrics, events, providers, measurements, view, holds, leases, enclaves },
    ...{ documents, media },
    receiptSigner: receiptKey.signer,
    providerReceipts: new ProviderReceipts({ state, documents }),
    tracing: openBrokerTracing(options, events),
    sendMetrics: openMetricsExport({
      service: 'sotto-broker',
      url: config.METRICS_URL,
      registry: metrics.registry,
      now,
    }),
    gateway: options.gateway && buildGateway(options.gateway, attested),
    deadlines: new Deadlines(),
  };
}

/** The metrics exist before the parts whose state they show. */
const openMetrics = (
  parts: () => { readonly holds: HoldBook; readonly view: SharedView; readonly enclaves: Enclaves },
): BrokerMetrics =>
  new BrokerMetrics({
    openHolds: () => parts().holds.openHolds,
    pendingSettlements: () => parts().holds.size,
    mostPendingSettlements: mostPending(),
    unsentSettlements: () => parts().holds.unsent,
    penalties: () => parts().view.penaltyCount,
    teeSessions: () => parts().enclaves.size,
    catalogVersion: () => parts().view.catalog?.version,
  });

const mostPending = (): number => Math.floor((getHeapStatistics().heap_size_limit * pendingPart) / pendingBytes);

const openHolds = ({ config, state }: BrokerOptions, events: BrokerEvents): HoldBook =>
  new HoldBook({
    state,
    macKey: config.SETTLEMENT_MAC_KEY,
    // Not the time of day: if that were set back by an hour, every resend would wait an hour longer.
    now: () => performance.now(),
    mostPending: mostPending(),
    onDelayed: (pending) => events.settlementDelayed({ pending }),
  });

/** Verifies enclaves under the vendors' own roots. */
const vendorEngine = ({ config, now = Date.now }: BrokerOptions, events: BrokerEvents): VerificationEngine => ({
  verifyProvider,
  openVendors: () =>
    providerVendors({
      fetch: globalThis.fetch,
      now,
      mirror: config.ATTESTATION_COLLATERAL_URL,
      onExpiring: events.collateralExpiring,
    }),
});

function openBrokerTracing({ config, now = Date.now }: BrokerOptions, events: BrokerEvents): Tracing | undefined {
  const traces = setting.readTraces(config);
  return (
    traces &&
    openTracing({
      ...traces,
      ...{ service: 'sotto-broker', now },
      onLost: (spans) => events.tracesLost({ spans }),
    })
  );
}

function appOf(parts: Parts, options: BrokerOptions, isReady: () => Promise<boolean>): FastifyInstance {
  const { config, state, now, providers, documents, events, media } = parts;
  const inference = inferenceOf(parts);
  return buildApp({
    inference,
    tee: { admission: inference.admission, providers, documents, events },
    receipts: { state, limit: new AddressLimit({ perMinute: missingReceiptsPerMinute, maxAddresses: 10_000, now }) },
    media,
    isReady,
    requestMemory:
      config.REQUEST_MEMORY_MIB === undefined
        ? requestMemoryOf(memoryOfProcess())
        : config.REQUEST_MEMORY_MIB * 1024 * 1024,
    trustProxy: config.TRUST_PROXY,
    proxies: config.PROXY_PROTOCOL,
    tls: options.tls,
    isForLoopback: config.isForLoopback,
    gateway: parts.gateway?.route,
  });
}

/** Returns what serving a request needs. */
function inferenceOf(parts: Parts): InferenceDependencies {
  const { config, state, now, random, holds, view, events } = parts;
  const { providers, deadlines, enclaves, providerReceipts, measurements } = parts;
  const ticketSealingKey = setting.withOther(config.TICKET_SEALING_KEY, config.OTHER_TICKET_SEALING_KEY);
  return {
    ...{ providers, deadlines, enclaves, providerReceipts, measurements, events, now, randomId },
    admission: { state, holds, keys: new KeyCache(state), view, ticketSealingKey, now, random },
    settlement: {
      ...{ holds, macKey: config.SETTLEMENT_MAC_KEY, now },
      onExcess: (route, excessNusd) => events.excess({ route: route.id, excessNusd }),
    },
    pacing: {
      keepAliveMs: msOrOff(config.STREAM_KEEPALIVE_S),
      headersAfterMs: msOrOff(config.STREAM_HEADERS_AFTER_S),
    },
    receipts: {
      ...{ state, signer: parts.receiptSigner, now },
      get registryDigest() {
        return `sha256:${view.registry.digest}`;
      },
    },
    meter: parts.metrics,
    traces: parts.tracing,
    monotonicNow: () => performance.now(),
  };
}

/** Takes other keys and another registry, as far as nothing that was attested changes. Throws `RegistryFileError`. */
async function reloadProviders(
  { providers, view, events, metrics, media, gateway }: Parts,
  { providers: next, digest }: ReadRegistry,
  { registryFile: { name }, providerKey }: Pick<BrokerOptions, 'registryFile' | 'providerKey'>,
): Promise<void> {
  const refuse = (message: string): never => {
    throw new RegistryFileError(name, [{ line: 1, message }]);
  };
  if (gateway !== undefined && digest !== view.registry.digest)
    refuse('this broker attests its registry, so another one needs another start');
  for (const entry of next.providers) {
    const open = providers.get(entry.id)?.entry;
    if (open?.attestation !== undefined && !isSame(open, entry))
      refuse(`provider ${entry.id} is verified as it was at the start, so a change of it needs another start`);
  }
  await providers.reload(next, providerKey);
  const registry = publicRegistry(next, providers.isAvailable, media);
  if (JSON.stringify(registry) !== JSON.stringify(view.registry)) {
    const known = new Set(
      view.registry.providers.flatMap(({ id, listed, available }) =>
        available ? [listed ? id : otherProviderId] : [],
      ),
    );
    const willCall = (id: string): void => {
      // The series of the others have begun.
      if (!known.has(id)) metrics.willCall(id);
    };
    tellOfProviders(next, providers, providerKey, { events, willCall });
    view.takeRegistry(registry);
  }
  events.reloaded({ providers: registry.providers.filter(({ available }) => available).length });
}

/** Returns a time in ms. Undefined for 0, which is off. */
const msOrOff = (seconds: number): number | undefined => (seconds === 0 ? undefined : seconds * 1000);

/** Lets running requests end, stops the tasks, hands every settlement over, and closes all connections. */
async function drainParts(
  parts: Parts,
  { app, upkeep, leave }: { readonly app: FastifyInstance; readonly upkeep: Upkeep; readonly leave: Leave },
): Promise<void> {
  const { events, gateway, deadlines, measurements, tracing, sendMetrics, holds, leases } = parts;
  events.lifecycle('draining');
  await leaveServer(app, { ...leave, breakOff: () => deadlines.shutDown() });
  // Do not wait for a quote that is being made: it binds nothing that outlives this process.
  void gateway?.upkeep.stop();
  await upkeep.stop();
  await measurements.exchange().catch(() => {});
  await tracing?.flush();
  await sendMetrics?.().catch(() => {});
  for (let tries = 0; tries < 20 && (await holds.flush()) > 0; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  if (holds.unsent > 0) events.settlementsLost({ settlements: holds.unsent });
  await leases.leave();
  parts.providerReceipts.close();
  await Promise.all([parts.providers.close(), parts.enclaves.close(), parts.documents.close()]);
  events.lifecycle('stopped');
}
