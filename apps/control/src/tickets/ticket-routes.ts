import { readJsonBody } from '@sotto/http';
import { nusdToUsd } from '@sotto/money';
import { asksForE2ee, bestOfBand, weakestReachableClass } from '@sotto/router';
import { bindingsOf, sealAccountRef, sealTicket, shardOfWallet } from '@sotto/state';
import {
  type Operation,
  parseRequest,
  ServiceError,
  type TicketAnswer,
  type TicketRequest,
  ticketRequestSchema,
} from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { type ApiCredentials, requireKey } from '../credentials/api-credentials.ts';
import type { PresentedKey } from '../credentials/presented-key.ts';
import { type MarkDependencies, placeMark } from './place-mark.ts';
import { operationOf, readTicketQuestion } from './ticket-question.ts';

export interface TicketDependencies extends MarkDependencies {
  readonly credentials: ApiCredentials;
  readonly keeper: CatalogKeeper;
  /** False for what is switched off on this deployment. */
  readonly offers: (operation: Operation) => boolean;
  readonly ticketSealingKey: Buffer;
  readonly accountRefKey: Buffer;
  readonly now: () => number;
  readonly rateLimit: object;
}

/** `POST /v1/inference/tickets` (interface 2.4): a single-use right to one request. Nothing of its content comes here. */
export function registerTickets(app: FastifyInstance, deps: TicketDependencies): void {
  app.post('/v1/inference/tickets', { config: deps.rateLimit }, async (request, reply): Promise<TicketAnswer> => {
    const key = await requireKey(deps.credentials, request, ['inference']);
    const asked = parseRequest(ticketRequestSchema, readJsonBody(request.body));
    reply.header('cache-control', 'no-store');
    return mintTicket(deps, key, asked);
  });
}

async function mintTicket(deps: TicketDependencies, key: PresentedKey, asked: TicketRequest): Promise<TicketAnswer> {
  const { catalog } = deps.keeper;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  const operation = operationOf(asked, catalog);
  if (!deps.offers(operation)) throw new ServiceError('media_disabled');
  const { bindings, needs } = readTicketQuestion(asked, operation);
  const context = { catalog, preferences: key.preferences, status: deps.keeper.status(), random: bestOfBand };
  const plaintext = weakestReachableClass(asked, needs, context);
  // End-to-end-encrypted routes are for those who ask for them; a plaintext body is refused with such a ticket.
  // Where they cannot serve either, the plaintext refusal is the one that names what is wrong.
  const encrypted =
    !plaintext.ok && asksForE2ee(asked.provider, key.preferences)
      ? weakestReachableClass(asked, { ...needs, encrypted: true }, context)
      : plaintext;
  const weakest = encrypted.ok ? encrypted : plaintext;
  if (!weakest.ok) throw new ServiceError(weakest.refusal.type, weakest.refusal);

  const expiresAt = deps.now() + deps.ticketTtlMs;
  const ticket = sealTicket(deps.ticketSealingKey, {
    v: 1,
    shard: shardOfWallet(key.walletId),
    generation: key.generation,
    expiresAt,
    bindings: bindingsOf(bindings),
    preferences: key.preferences,
    accountRef: sealAccountRef(deps.accountRefKey, key),
  });
  const minted = await placeMark(deps, key, { ticket });
  if (minted.result === 'not_projected') throw new ServiceError('service_unavailable');
  if (minted.result === 'insufficient') {
    const available = nusdToUsd(minted.availableNusd < 0n ? 0n : minted.availableNusd);
    throw new ServiceError('insufficient_balance', {
      message: `The prepaid balance is used up: ${available} USD is available. Top up, or wait for running requests to settle.`,
    });
  }
  return { ticket, privacy_class: weakest.value, expires_at: new Date(expiresAt).toISOString() };
}
