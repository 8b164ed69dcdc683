import { teeContracts } from '@sotto/contract/confidential/attestation';
import { NoEvidence } from '@sotto/providers';
import { planAttested, type Route } from '@sotto/router';
import { serveRoutes } from '@sotto/server';
import type { OpenedTicket } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AdmissionDependencies } from '../admission/admit.ts';
import { bodyHolder } from '../admission/credential.ts';
import type { Exchange } from '../admission/exchange.ts';
import { redeem } from '../admission/redeem.ts';
import { completing } from '../admission/refusal.ts';
import type { BrokerEvents } from '../events.ts';
import type { CallableProvider, ProviderSet } from '../providers/provider-set.ts';
import { type AttestedRoute, obtainEvidence } from './obtain-evidence.ts';
import type { ProviderDocuments } from './provider-documents.ts';

export interface TeeAttestationDependencies {
  readonly admission: AdmissionDependencies;
  readonly providers: ProviderSet;
  readonly documents: ProviderDocuments;
  readonly events: Pick<BrokerEvents, 'enclaveUnknown'>;
}

/** Seconds before a client may ask again, so that the provider is not asked at once. */
const retryAfterS = 2;
/**
 * Evidence is free for the caller and work for the provider. At most this many callers wait for one provider at once.
 */
const maxWaiting = 32;

/**
 * Serves `POST /v1/tee/attestation`: evidence of the ticket's enclave, for the caller's nonce
 * (docs/use/verifying.md). The evidence is obtained for this call and never kept: a verifier trusts neither the broker
 * nor an older answer.
 */
export function serveTeeAttestation(app: FastifyInstance, deps: TeeAttestationDependencies): void {
  /** How many callers wait, by provider. */
  const waiting = new Map<string, number>();
  const beforeBody = async (request: FastifyRequest): Promise<void> => {
    app.requestBodies.countBy(request, bodyHolder(await ticketOf(deps.admission, request.exchange)));
  };
  serveRoutes(app)(teeContracts)({
    'POST /v1/tee/attestation': {
      config: { beforeBody },
      // Without a body nothing was read before it. The ticket is judged first all the same.
      preValidation: async (request) => void (await ticketOf(deps.admission, request.exchange)),
      errorHandler: completing(deps.admission, () => accepts),
      handler: async ({ request, body: { nonce }, reply }) => {
        const asked = await readAttestation(deps, request, nonce);
        const { providerId } = asked.enclave.route;
        const before = waiting.get(providerId) ?? 0;
        if (before >= maxWaiting) {
          throw new ServiceError('service_unavailable', {
            message: 'Too many ask for evidence of this provider. The ticket stays valid: try again shortly.',
            retryAfterS,
          });
        }
        waiting.set(providerId, before + 1);
        try {
          await takeTicket(deps.admission, asked, request.exchange);
          // From here on the ticket is taken, so no refusal needs its rate limits.
          request.exchange.hasFacts = true;
          const document = await evidenceOf(deps, asked).catch((error: unknown) => {
            // The ticket is spent, so sending it again cannot help.
            reply.header('x-should-retry', 'false');
            throw error;
          });
          // Its shape follows the family of the enclave, which the compiler cannot know.
          return reply.header('x-request-id', request.id).send(document);
        } finally {
          waiting.set(providerId, (waiting.get(providerId) ?? 1) - 1);
        }
      },
    },
    // With a key, this path belongs to control alone. The answer says so, because no client should send its key here.
    'GET /v1/tee/attestation': async () => {
      throw new ServiceError('not_found', {
        message:
          'With a key, evidence is given at the control origin. Here it takes `POST` with an attestation ticket.',
      });
    },
  });
}

interface AskedAttestation {
  readonly envelope: OpenedTicket;
  readonly ticketHash: string;
  readonly enclave: Enclave;
  readonly nonce: string;
}

/** An enclave that this broker can ask for evidence. */
interface Enclave {
  readonly route: Route;
  readonly provider: CallableProvider;
  readonly attested: AttestedRoute;
}

const accepts = { ticketOnly: 'Evidence of an enclave', attests: true } as const;

async function ticketOf(deps: AdmissionDependencies, exchange: Exchange) {
  const credential = await exchange.credential(deps, accepts);
  if (credential.kind === 'key') throw new Error('a key where only a ticket is taken');
  return credential;
}

async function readAttestation(
  { admission, providers }: Pick<TeeAttestationDependencies, 'admission' | 'providers'>,
  request: FastifyRequest,
  nonce: string,
): Promise<AskedAttestation> {
  const { envelope, ticketHash } = await ticketOf(admission, request.exchange);
  return { envelope, ticketHash, nonce, enclave: enclaveOf(providers, routeOf(admission, envelope)) };
}

/** Takes the ticket, which costs nothing: its hold is released at once, and the ticket stays used. */
async function takeTicket(
  deps: AdmissionDependencies,
  { envelope, ticketHash }: AskedAttestation,
  exchange: Exchange,
): Promise<void> {
  const { shard, accountRef } = envelope;
  const right = { kind: 'ticket', ticketHash } as const;
  const order = { shard, accountRef, right, amountNusd: 0n, estimatedTokens: 0, free: true };
  const redeemed = await redeem(deps.holds, order, exchange);
  if (redeemed.result !== 'admitted') throw new ServiceError('invalid_ticket');
  const { holdId } = redeemed;
  void deps.holds.settle({ shard, holdId, chargeNusd: 0n, usedTokens: 0, entry: undefined }).catch(() => {});
}

function routeOf(deps: AdmissionDependencies, { attestation, preferences }: OpenedTicket): Route {
  if (attestation === undefined) throw new Error('an attestation ticket that says of nothing');
  const { catalog } = deps.view;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  const context = { catalog, preferences, status: deps.view.status(), random: deps.random };
  const planned = planAttested(attestation, context);
  if (!planned.ok) throw new ServiceError(planned.refusal.type, planned.refusal);
  return planned.value;
}

function enclaveOf(providers: ProviderSet, route: Route): Enclave {
  const provider = providers.get(route.providerId);
  const family = provider?.entry.attestation?.family;
  const { privacyClass } = route;
  if (provider === undefined || family === undefined || (privacyClass !== 'tee' && privacyClass !== 'e2ee')) {
    throw new ServiceError('service_unavailable');
  }
  const attested: AttestedRoute = {
    provider: route.publicProviderId,
    model: route.modelId,
    upstream_model: route.upstreamModel,
    privacy_class: privacyClass,
    family,
  };
  return { route, provider, attested };
}

async function evidenceOf(
  { documents, events, admission }: TeeAttestationDependencies,
  { enclave: { route, provider, attested }, nonce }: AskedAttestation,
): Promise<unknown> {
  const asked = { ...documents.of(provider, 'callers'), nonce, now: admission.now() };
  return obtainEvidence(attested, asked).catch((error: unknown) => {
    if (!(error instanceof NoEvidence)) throw error;
    events.enclaveUnknown({ route: route.id, reason: error.message });
    throw new ServiceError('service_unavailable', {
      message:
        `The provider \`${attested.provider}\` gives no evidence of its enclave now: ${error.message}. ` +
        'Try again shortly, with a new attestation ticket.',
      retryAfterS,
    });
  });
}
