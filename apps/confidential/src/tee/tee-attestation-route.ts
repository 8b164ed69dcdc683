import { readJsonBody } from '@sotto/http';
import { planAttested, type Route } from '@sotto/router';
import type { OpenedTicket } from '@sotto/state';
import { parseRequest, ServiceError, teeAttestationRequestSchema } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AdmissionDependencies } from '../admission/admit.ts';
import { type Asked, credentialOf } from '../admission/credential.ts';
import { redeem } from '../admission/redeem.ts';
import { completing, tell } from '../admission/refusal.ts';
import type { BrokerEvents } from '../events.ts';
import type { CallableProvider, ProviderSet } from '../providers/provider-set.ts';
import { NoEvidence } from './families/question.ts';
import { type AttestedRoute, obtainEvidence } from './obtain-evidence.ts';
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
  const beforeBody = async (request: FastifyRequest): Promise<void> => {
    await ticketOf(deps.admission, request);
  };
  const options = { config: { beforeBody }, errorHandler: completing(deps.admission, askedBy) };
  app.post('/v1/tee/attestation', options, async (request, reply) => {
    const asked = await readAttestation(deps, request);
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
      await takeTicket(deps.admission, asked);
      // From here on a refusal is no longer one of the ticket.
      tell(reply, {});
      const document = await evidenceOf(deps, asked).catch((error: unknown) => {
        // The ticket is spent: to send it again cannot help.
        reply.header('x-should-retry', 'false');
        throw error;
      });
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

const askedBy = (request: FastifyRequest): Asked => ({ request, ticketOnly: 'Evidence of an enclave', attests: true });

async function ticketOf(deps: AdmissionDependencies, request: FastifyRequest) {
  const credential = await credentialOf(deps, askedBy(request));
  if (credential.kind === 'key') throw new Error('a key where only a ticket is taken');
  return credential;
}

async function readAttestation(
  { admission, providers }: Pick<TeeAttestationDependencies, 'admission' | 'providers'>,
  request: FastifyRequest,
): Promise<AskedAttestation> {
  const { envelope, ticketHash } = await ticketOf(admission, request);
  const { nonce } = parseRequest(teeAttestationRequestSchema, readJsonBody(request.body));
  return { envelope, ticketHash, nonce, enclave: enclaveOf(providers, routeOf(admission, envelope)) };
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
      message: 'The provider gives no evidence of its enclave now. Try again shortly, with a new attestation ticket.',
      retryAfterS,
    });
  });
}
