import { buildDocument } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import type { MediaSwitches } from '@sotto/router';
import { createServer, registerHealth, registerOpenApi, type ServerOptions, setting } from '@sotto/server';
import { StateUnavailableError } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { Exchange } from './admission/exchange.ts';
import { bodyWeight, largestBodyIn } from './admission/request-memory.ts';
import { type AttestationRouteDependencies, registerGatewayAttestation } from './gateway/attestation-route.ts';
import type { InferenceDependencies } from './inference/deps.ts';
import { registerInference } from './inference-routes.ts';
import { registerModels } from './models/models-route.ts';
import { type ReceiptRouteDependencies, registerReceipts } from './receipts/receipt-route.ts';
import { registerTeeAttestation, type TeeAttestationDependencies } from './tee/tee-attestation-route.ts';

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
  registerHealth(app, isReady);
  registerOpenApi(app, buildDocument(confidentialOrigin));
  registerInference(app, inference, media);
  registerModels(app, inference.admission);
  registerReceipts(app, receipts);
  registerTeeAttestation(app, tee);
  if (gateway !== undefined) registerGatewayAttestation(app, gateway);
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
