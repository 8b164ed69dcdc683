import { buildDocument } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import type { MediaSwitches } from '@sotto/router';
import { createServer, type ServerOptions, serveDescription, serveHealth, setting } from '@sotto/server';
import { StateUnavailableError } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { Exchange } from './admission/exchange.ts';
import { bodyWeight, largestBodyIn } from './admission/request-memory.ts';
import { type AttestationRouteDependencies, serveGatewayAttestation } from './gateway/attestation-route.ts';
import type { InferenceDependencies } from './inference/deps.ts';
import { serveInference } from './inference-routes.ts';
import { serveModels } from './models/models-route.ts';
import { type ReceiptRouteDependencies, serveReceipts } from './receipts/receipt-route.ts';
import { serveTeeAttestation, type TeeAttestationDependencies } from './tee/tee-attestation-route.ts';

export interface BrokerAppOptions {
  readonly inference: InferenceDependencies;
  readonly receipts: ReceiptRouteDependencies;
  readonly tee: TeeAttestationDependencies;
  readonly media: MediaSwitches;
  readonly isReady: () => Promise<boolean>;
  /** The bytes of memory that requests may hold because of their bodies. */
  readonly requestMemory: number;
  readonly trustProxy: ServerOptions['trustProxy'];
  readonly proxies?: ServerOptions['proxies'];
  readonly tls: ServerOptions['tls'];
  /** Whether requests must name this machine, because there is no TLS. */
  readonly isForLoopback: boolean;
  /** Undefined: this broker does not attest itself. */
  readonly gateway: AttestationRouteDependencies | undefined;
}

/** A ticket travels in a header and contains the workspace's lists. */
const maxHeaderBytes = 48 * 1024;

/**
 * Builds the confidential API origin. It serves inference and nothing of the control plane (docs/concepts/planes.md).
 */
export function buildApp({
  inference,
  receipts,
  tee,
  media,
  isReady,
  requestMemory,
  trustProxy,
  proxies,
  tls,
  isForLoopback,
  gateway,
}: BrokerAppOptions): FastifyInstance {
  const app = createServer({
    bodyLimit: largestBodyIn(requestMemory),
    bodyBudget: requestMemory,
    bodyWeight,
    maxHeaderBytes,
    trustProxy,
    proxies,
    tls,
    origin: { name: 'confidential' },
    // All credentials here are headers, so a browser attaches none by itself.
    isOpenToPages: (path) => path.startsWith('/v1/') || path === '/readyz',
    onArrival(request, reply) {
      request.exchange = new Exchange(request, reply);
    },
    onShed: (requests) => inference.events.shed({ requests }),
    onUnexpected: inference.events.unexpected,
    onRefused: (error, request) => {
      const operation = request.routeOptions.url ?? 'unknown';
      inference.events.refused({ requestId: request.id, operation, status: error.status, error: error.type });
    },
    translate: (error) =>
      error instanceof StateUnavailableError ? new ServiceError('service_unavailable') : undefined,
  });
  app.decorateRequest('exchange');
  if (isForLoopback) refuseOtherNames(app);
  serveHealth(app, isReady);
  serveDescription(app, buildDocument(confidentialOrigin));
  serveInference(app, inference, media);
  serveModels(app, inference.admission);
  serveReceipts(app, receipts);
  serveTeeAttestation(app, tee);
  if (gateway !== undefined) serveGatewayAttestation(app, gateway);
  return app;
}

/**
 * Refuses requests under any name but this machine's own, except for its health. Without TLS, a request to another name has
 * crossed a network that could read it.
 */
function refuseOtherNames(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ routeOptions: { url }, headers: { host = '' } }) => {
    if (url === '/healthz' || url === '/readyz' || isLoopbackName(host)) return;
    throw new ServiceError('forbidden', {
      message:
        'This broker has no TLS and serves `localhost` only. Use its address on this machine, or give it a domain.',
    });
  });
}

const isLoopbackName = (host: string): boolean => {
  const name = URL.parse(`http://${host}`)?.hostname ?? '';
  return setting.isLoopback(name.replace(/^\[|\]$/g, ''));
};
