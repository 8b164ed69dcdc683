import { readJsonBody } from '@sotto/http';
import { bestOfBand, planAttested } from '@sotto/router';
import { bindingsOf, sealAccountRef, sealTicket, shardOfWallet } from '@sotto/state';
import {
  type AttestationTicketAnswer,
  type AttestationTicketRequest,
  attestationTicketRequestSchema,
  parseRequest,
  ServiceError,
} from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireKey } from '../credentials/api-credentials.ts';
import type { PresentedKey } from '../credentials/presented-key.ts';
import { placeMark } from './place-mark.ts';
import type { TicketDependencies } from './ticket-routes.ts';

/** `POST /v1/inference/attestation-tickets` (interface 4.6): a single-use right to the evidence of one enclave. Free. */
export function registerAttestationTickets(app: FastifyInstance, deps: TicketDependencies): void {
  app.post('/v1/inference/attestation-tickets', { config: deps.rateLimit }, async (request, reply) => {
    const key = await requireKey(deps.credentials, request, ['inference']);
    const asked = parseRequest(attestationTicketRequestSchema, readJsonBody(request.body));
    reply.header('cache-control', 'no-store');
    return mintAttestationTicket(deps, key, asked);
  });
}

/** Refused where no enclave could serve such a request of this key's; nothing is held, and no balance is needed. */
export async function mintAttestationTicket(
  deps: Omit<TicketDependencies, 'rateLimit'>,
  key: PresentedKey,
  { model, provider }: AttestationTicketRequest,
): Promise<AttestationTicketAnswer> {
  const { catalog } = deps.keeper;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  const context = { catalog, preferences: key.preferences, status: deps.keeper.status(), random: bestOfBand };
  const planned = planAttested({ model, provider }, context);
  if (!planned.ok) throw new ServiceError(planned.refusal.type, planned.refusal);
  const expiresAt = deps.now() + deps.ticketTtlMs;
  const ticket = sealTicket(deps.ticketSealingKey, {
    v: 1,
    shard: shardOfWallet(key.walletId),
    generation: key.generation,
    expiresAt,
    bindings: bindingsOf({ operation: 'attestation', model, provider, reasoning: {} }),
    attestation: { model, provider },
    preferences: key.preferences,
    accountRef: sealAccountRef(deps.accountRefKey, key),
  });
  const minted = await placeMark(deps, key, { ticket, free: true });
  if (minted.result !== 'minted') throw new ServiceError('service_unavailable');
  return { ticket, expires_at: new Date(expiresAt).toISOString() };
}
