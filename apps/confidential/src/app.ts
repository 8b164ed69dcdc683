import { buildDocument } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { createServer, registerHealth, registerOpenApi, type ServerOptions } from '@sotto/http';
import type { MediaSwitches } from '@sotto/router';
import { StateUnavailableError } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { registerChat } from './chat/chat-route.ts';
import type { InferenceDependencies } from './deps.ts';
import { registerEmbeddings } from './embeddings/embeddings-route.ts';
import { type AttestationRouteDependencies, registerGatewayAttestation } from './gateway/attestation-route.ts';
import { registerMedia } from './media-routes.ts';
import { registerModels } from './models/models-route.ts';
import { type ReceiptRouteDependencies, registerReceipts } from './receipts/receipt-route.ts';
import { registerTeeAttestation, type TeeAttestationDependencies } from './tee/tee-attestation-route.ts';

export interface BrokerAppOptions {
  readonly inference: InferenceDependencies;
  readonly receipts: ReceiptRouteDependencies;
  readonly tee: TeeAttestationDependencies;
  readonly media: MediaSwitches;
  readonly isReady: () => Promise<boolean>;
  readonly trustProxy: ServerOptions['trustProxy'];
  readonly proxies?: ServerOptions['proxies'];
  readonly tls: ServerOptions['tls'];
  /** Undefined: this broker does not attest itself. */
  readonly gateway: AttestationRouteDependencies | undefined;
}

/** Large enough for many inline images and long contexts. */
const bodyLimit = 32 * 1024 * 1024;
/** A ticket travels in a header, and with it the workspace's lists. */
const maxHeaderBytes = 48 * 1024;

/** The confidential API origin: inference content and nothing of the control plane (interface 1). */
export function buildApp({
  inference,
  receipts,
  tee,
  media,
  isReady,
  trustProxy,
  proxies,
  tls,
  gateway,
}: BrokerAppOptions): FastifyInstance {
  const app = createServer({
    bodyLimit,
    maxHeaderBytes,
    trustProxy,
    proxies,
    tls,
    // Credentials here are headers alone, in every flow.
    isOpenToPages: (path) => path.startsWith('/v1/'),
    onShed: (requests) => inference.events.shed({ requests }),
    onUnexpected: inference.events.unexpected,
    onRefused: (error, request) => {
      const operation = request.routeOptions.url ?? 'unknown';
      inference.events.refused({ requestId: request.id, operation, status: error.status, error: error.type });
    },
    translate: (error) =>
      error instanceof StateUnavailableError ? new ServiceError('service_unavailable') : undefined,
  });
  registerHealth(app, isReady);
  registerOpenApi(app, buildDocument(confidentialOrigin));
  registerChat(app, inference);
  registerEmbeddings(app, inference);
  registerModels(app, inference.admission);
  registerReceipts(app, receipts);
  registerTeeAttestation(app, tee);
  registerMedia(app, inference, media);
  if (gateway !== undefined) registerGatewayAttestation(app, gateway);
  return app;
}
