import { getHeapStatistics } from 'node:v8';
import { verifyProvider } from '@sotto/attestation';
import { providerVendors } from '@sotto/attestation/producers';
import { type MediaSwitches, publicRegistry } from '@sotto/router';
import {
  AddressLimit,
  type Leave,
  leaveServer,
  openTracing,
  randomId,
  type ServerOptions,
  type Tracing,
} from '@sotto/server';
import { type BrokerState, HoldBook, LeaseKeeper } from '@sotto/state';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { KeyCache } from './admission/key-cache.ts';
import { memoryOfProcess, requestMemoryOf } from './admission/request-memory.ts';
import type { StreamPacing } from './answers/keep-alive.ts';
import { buildApp } from './app.ts';
import { Deadlines } from './attempts/deadline.ts';
import type { BrokerConfig } from './config.ts';
import { type BrokerEvents, brokerEvents } from './events.ts';
import { buildGateway, type GatewayOptions } from './gateway/build-gateway.ts';
import { makeReceiptKey } from './gateway/key-set-keeper.ts';
import type { InferenceDependencies } from './inference/deps.ts';
import { BrokerMetrics } from './metrics/broker-metrics.ts';
import { MeasurementLog } from './planning/measurement-log.ts';
import { SharedView } from './planning/shared-view.ts';
import type { RegistryBytes } from './providers/check-registry.ts';
import { openProviders, type ProviderSet } from './providers/provider-set.ts';
import { tellOfProviders } from './providers/tell-of-providers.ts';
import { builtInRegistry, type ReadRegistry, readRegistry } from './registry-file.ts';
import type { Enclaves, VerificationEngine } from './tee/enclaves.ts';
import { ProviderDocuments } from './tee/provider-documents.ts';
import { ProviderReceipts } from './tee/provider-receipts.ts';
import { TeeSessions } from './tee/tee-sessions.ts';
import { keepUp, type Upkeep } from './upkeep.ts';

export interface BrokerOptions {
  readonly state: BrokerState;
  readonly logger: Logger;
  /** The provider registry that this broker uses. */
  readonly registryFile: RegistryBytes;
  /** The registry inside the image. Default: the built-in one. */
  readonly imageRegistry?: RegistryBytes;
  /** Reads a provider's key from the broker's own environment. */
  readonly providerKey: (name: string) => string | undefined;
  readonly secrets: BrokerConfig['secrets'];
  /** The gated operations that this deployment offers. */
  readonly media: MediaSwitches;
  readonly requestMemory?: BrokerConfig['requestMemory'];
  /** Default: comments after 15 s of silence, and headers with the first output. */
  readonly pacing?: StreamPacing;
  readonly trustProxy: BrokerConfig['trustProxy'];
  readonly proxies?: BrokerConfig['proxies'];
  readonly tls?: ServerOptions['tls'];
  /** Whether requests must name this machine. Default: false. */
  readonly isForLoopback?: boolean;
  readonly traces?: BrokerConfig['traces'];
  /** How this broker attests itself. Undefined: it does not. */
  readonly gateway?: GatewayOptions | undefined;
  /** A mirror of Intel's documents. Undefined: Intel. */
  readonly collateralUrl?: string | undefined;
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
    async start() {
      await upkeep.start();
      parts.gateway?.upkeep.start();
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
  const { state, secrets, providerKey, now = Date.now } = options;
  const metrics: BrokerMetrics = openMetrics(() => ({ holds, view, enclaves }));
  const events = metrics.counting(brokerEvents(options.logger));
  const providers = await openProviders(read.providers, {
    keyOf: providerKey,
    onAddressRefused: (provider) => events.addressRefused({ provider }),
    ca: options.engine?.ca,
  });
  tellOfProviders(read.providers, providers, providerKey, { events, willCall: (id) => metrics.willCall(id) });
  const registry = publicRegistry(read.providers, providers.isAvailable, options.media);
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
    ...{ state, secrets, now, metrics, events, providers, registry, measurements, view, holds, leases, enclaves },
    documents,
    registryDigest: `sha256:${read.digest}`,
    receiptSigner: receiptKey.signer,
    providerReceipts: new ProviderReceipts({ state, documents }),
    tracing: openBrokerTracing(options, events),
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

const openHolds = ({ state, secrets }: BrokerOptions, events: BrokerEvents): HoldBook =>
  new HoldBook({
    state,
    macKey: secrets.settlementMacKey,
    // Not the time of day: if that were set back by an hour, every resend would wait an hour longer.
    now: () => performance.now(),
    mostPending: mostPending(),
    onDelayed: (pending) => events.settlementDelayed({ pending }),
  });

/** Verifies enclaves under the vendors' own roots. */
const vendorEngine = ({ now = Date.now, collateralUrl }: BrokerOptions, events: BrokerEvents): VerificationEngine => ({
  verifyProvider,
  openVendors: () =>
    providerVendors({
      fetch: globalThis.fetch,
      now,
      mirror: collateralUrl,
      onExpiring: events.collateralExpiring,
    }),
});

const openBrokerTracing = ({ traces, now = Date.now }: BrokerOptions, events: BrokerEvents): Tracing | undefined =>
  traces &&
  openTracing({
    ...traces,
    ...{ service: 'sotto-broker', now },
    onLost: (spans) => events.tracesLost({ spans }),
  });

function appOf(parts: Parts, options: BrokerOptions, isReady: () => Promise<boolean>): FastifyInstance {
  const { state, now, providers, documents, events } = parts;
  const inference = inferenceOf(parts, options);
  return buildApp({
    inference,
    tee: { admission: inference.admission, providers, documents, events },
    receipts: { state, limit: new AddressLimit({ perMinute: missingReceiptsPerMinute, maxAddresses: 10_000, now }) },
    media: options.media,
    isReady,
    requestMemory: options.requestMemory ?? requestMemoryOf(memoryOfProcess()),
    trustProxy: options.trustProxy,
    proxies: options.proxies,
    tls: options.tls,
    isForLoopback: options.isForLoopback ?? false,
    gateway: parts.gateway?.route,
  });
}

/** Returns what serving a request needs. */
function inferenceOf(parts: Parts, { pacing, random = Math.random }: BrokerOptions): InferenceDependencies {
  const { state, secrets, now, holds, view, events, registryDigest } = parts;
  const { providers, deadlines, enclaves, providerReceipts, measurements } = parts;
  const { ticketSealingKey, settlementMacKey: macKey } = secrets;
  return {
    ...{ providers, deadlines, enclaves, providerReceipts, measurements, events, now, randomId },
    admission: { state, holds, keys: new KeyCache(state), view, ticketSealingKey, now, random },
    settlement: {
      ...{ holds, macKey, now },
      onExcess: (route, excessNusd) => events.excess({ route: route.id, excessNusd }),
    },
    pacing: pacing ?? { keepAliveMs: 15_000, headersAfterMs: undefined },
    receipts: { state, signer: parts.receiptSigner, registryDigest, now },
    meter: parts.metrics,
    traces: parts.tracing,
    monotonicNow: () => performance.now(),
  };
}

/** Lets running requests end, stops the tasks, hands every settlement over, and closes all connections. */
async function drainParts(
  parts: Parts,
  { app, upkeep, leave }: { readonly app: FastifyInstance; readonly upkeep: Upkeep; readonly leave: Leave },
): Promise<void> {
  const { events, gateway, deadlines, measurements, tracing, holds, leases } = parts;
  events.lifecycle('draining');
  await leaveServer(app, { ...leave, breakOff: () => deadlines.shutDown() });
  // Do not wait for a quote that is being made: it binds nothing that outlives this process.
  void gateway?.upkeep.stop();
  await upkeep.stop();
  await measurements.exchange().catch(() => {});
  await tracing?.flush();
  for (let tries = 0; tries < 20 && (await holds.flush()) > 0; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  if (holds.unsent > 0) events.settlementsLost({ settlements: holds.unsent });
  await leases.leave();
  parts.providerReceipts.close();
  await Promise.all([parts.providers.close(), parts.enclaves.close(), parts.documents.close()]);
  events.lifecycle('stopped');
}
