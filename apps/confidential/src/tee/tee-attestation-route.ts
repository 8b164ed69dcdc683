import { bearerToken, readJsonBody } from '@sotto/http';
import { planAttested, type Route } from '@sotto/router';
import { hashSecret, openTicket, type TicketEnvelope } from '@sotto/state';
import { headerNames, parseRequest, ServiceError, teeAttestationRequestSchema } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type AdmissionDependencies, assertTicketValid, isLongExpired } from '../admission/admit.ts';
import { redeem } from '../admission/redeem.ts';
import type { BrokerEvents } from '../events.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import { NoEvidence } from './families/question.ts';
import { obtainEvidence } from './obtain-evidence.ts';
import type { ProviderDocuments } from './provider-documents.ts';

export interface TeeAttestationDependencies {
  readonly admission: AdmissionDependencies;
  readonly providers: ProviderSet;
  readonly documents: ProviderDocuments;
  readonly events: Pick<BrokerEvents, 'enclaveUnknown'>;
}

/** Providers are not asked again at once. */
const retryAfterS = 2;
/** Evidence is free, and making it is work for the provider: no more callers than these wait for one at once. */
const maxWaiting = 32;

/**
 * `POST /v1/tee/attestation` (interface 4.2): evidence of the enclave that the ticket is of, for the caller's nonce. It is
 * obtained for this call and never kept: whoever verifies it believes neither us nor an older answer.
 */
export function registerTeeAttestation(app: FastifyInstance, deps: TeeAttestationDependencies): void {
  /** How many wait, by provider. */
  const waiting = new Map<string, number>();
  app.post('/v1/tee/attestation', async (request, reply) => {
    const asked = await readAttestation(deps.admission, request);
    const { providerId } = asked.route;
    const before = waiting.get(providerId) ?? 0;
    if (before >= maxWaiting) {
      throw new ServiceError('service_unavailable', {
        message: 'Too many ask for evidence of this provider. The ticket stays valid: try again shortly.',
        retryAfterS,
      });
    }
    waiting.set(providerId, before + 1);
    try {
      await takeTicket(deps.admission, asked);
      const document = await evidenceOf(deps, asked.route, asked.nonce);
      reply.header('cache-control', 'no-store').header('x-request-id', request.id);
      return document;
    } finally {
      waiting.set(providerId, (waiting.get(providerId) ?? 1) - 1);
    }
  });
  // The same path with a key is control's alone (interface 1): nobody shall bring a key here.
  app.get('/v1/tee/attestation', () => {
    throw new ServiceError('not_found', {
      message: 'With a key, evidence is given at the control origin. Here it takes `POST` with an attestation ticket.',
    });
  });
}

interface AskedAttestation {
  readonly envelope: TicketEnvelope;
  readonly ticketHash: string;
  readonly route: Route;
  readonly nonce: string;
}

async function readAttestation(deps: AdmissionDependencies, request: FastifyRequest): Promise<AskedAttestation> {
  // What is no bearer token may be a proxy's own.
  if (bearerToken(request)) {
    throw new ServiceError('ticket_required', {
      message:
        'Evidence is given for an attestation ticket only: send it in `x-router-ticket`, and no `authorization`.',
    });
  }
  const ticket = request.headers[headerNames.ticket];
  if (typeof ticket !== 'string' || ticket === '') throw new ServiceError('ticket_required');
  const envelope = openTicket(deps.ticketSealingKey, ticket);
  if (envelope === undefined || isLongExpired(envelope, deps.now())) throw new ServiceError('invalid_ticket');
  const ticketHash = hashSecret(ticket);
  try {
    const { nonce } = parseRequest(teeAttestationRequestSchema, readJsonBody(request.body));
    return { envelope, ticketHash, nonce, route: routeOf(deps, envelope) };
  } catch (error) {
    // A used or expired ticket is 401 whatever else is wrong; a valid one is left untouched.
    if (error instanceof ServiceError && error.status < 500) await assertTicketValid(deps, envelope, ticketHash);
    throw error;
  }
}

/** Takes the ticket, which costs nothing: what it held is released at once, and it stays used. */
async function takeTicket(deps: AdmissionDependencies, { envelope, ticketHash }: AskedAttestation): Promise<void> {
  const { shard, accountRef, generation } = envelope;
  const right = { kind: 'ticket', ticketHash } as const;
  const order = { shard, accountRef, generation, right, amountNusd: 0n, estimatedTokens: 0, free: true };
  const redeemed = await redeem(deps.holds, order);
  if (redeemed.result !== 'admitted') throw new ServiceError('invalid_ticket');
  const { holdId } = redeemed;
  void deps.holds.settle({ shard, holdId, chargeNusd: 0n, usedTokens: 0, entry: undefined }).catch(() => {});
}

function routeOf(deps: AdmissionDependencies, { bindings, attestation, preferences }: TicketEnvelope): Route {
  if (attestation === undefined) {
    throw new ServiceError('ticket_model_mismatch', {
      message: `The ticket was issued for ${bindings.operation}, not for attestation.`,
    });
  }
  const { catalog } = deps.view;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  const context = { catalog, preferences, status: deps.view.status(), random: deps.random };
  const planned = planAttested(attestation, context);
  if (!planned.ok) throw new ServiceError(planned.refusal.type, planned.refusal);
  return planned.value;
}

async function evidenceOf(
  { providers, documents, events, admission }: TeeAttestationDependencies,
  route: Route,
  nonce: string,
): Promise<unknown> {
  const provider = providers.get(route.providerId);
  const family = provider?.entry.attestation?.family;
  const { privacyClass } = route;
  if (provider === undefined || family === undefined || (privacyClass !== 'tee' && privacyClass !== 'e2ee')) {
    throw new ServiceError('service_unavailable');
  }
  const attested = {
    provider: route.publicProviderId,
    model: route.modelId,
    upstream_model: route.upstreamModel,
    privacy_class: privacyClass,
    family,
  };
  const asked = { ...documents.of(provider, 'callers'), nonce, now: admission.now() };
  return obtainEvidence(attested, asked).catch((error: unknown) => {
    if (!(error instanceof NoEvidence)) throw error;
    events.enclaveUnknown({ route: route.id, reason: error.message });
    throw new ServiceError('service_unavailable', {
      message: 'The provider gives no evidence of its enclave now. Try again shortly.',
      retryAfterS,
    });
  });
}
