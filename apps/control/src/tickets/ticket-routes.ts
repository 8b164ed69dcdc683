import { readJsonBody } from '@sotto/http';
import { nusdToUsd } from '@sotto/money';
import { bestOfBand, type ModelType, noNeeds, weakestReachableClass } from '@sotto/router';
import { bindingsOf, hashSecret, type ProjectionPort, sealAccountRef, sealTicket, shardOfWallet } from '@sotto/state';
import {
  autoModelId,
  parseModelReference,
  parseRequest,
  type ReasoningSelection,
  reasoningSelection,
  ServiceError,
  type TicketAnswer,
  type TicketRequest,
  ticketRequestSchema,
} from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type pg from 'pg';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { type PresentedKey, requireKey } from '../credentials/api-credentials.ts';

export interface TicketDependencies {
  readonly pool: pg.Pool;
  readonly state: ProjectionPort;
  readonly keeper: CatalogKeeper;
  readonly ticketSealingKey: Buffer;
  readonly accountRefKey: Buffer;
  readonly ticketTtlMs: number;
  readonly now: () => number;
  readonly rateLimit: object;
}

/** `POST /v1/inference/tickets` (interface 2.4): a single-use right to one request. Nothing of its content comes here. */
export function registerTickets(app: FastifyInstance, deps: TicketDependencies): void {
  app.post('/v1/inference/tickets', { config: deps.rateLimit }, async (request, reply): Promise<TicketAnswer> => {
    const key = await requireKey(deps.pool, request, ['inference']);
    const asked = parseRequest(ticketRequestSchema, readJsonBody(request.body));
    reply.header('cache-control', 'no-store');
    return mintTicket(deps, key, asked);
  });
}

async function mintTicket(deps: TicketDependencies, key: PresentedKey, asked: TicketRequest): Promise<TicketAnswer> {
  const { catalog } = deps.keeper;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  if (asked.operation === 'image' || asked.operation === 'speech') throw new ServiceError('media_disabled');
  const reasoning = reasoningSelection(asked);
  if (reasoning === 'conflict') {
    throw new ServiceError('invalid_request', {
      message: '`reasoning_effort` and `reasoning.effort` ask for different efforts. Send one of them.',
      param: 'reasoning_effort',
    });
  }
  refuseMediaFields(asked);
  const modelType = modelTypeOf(deps, asked);
  const needs = {
    ...noNeeds(modelType),
    reasoningEffort: reasoning.effort,
    reasoningDisabled: reasoning.enabled === false || reasoning.effort === 'none',
  };
  const context = { catalog, preferences: key.preferences, status: deps.keeper.status(), random: bestOfBand };
  const plaintext = weakestReachableClass(asked, needs, context);
  // End-to-end-encrypted routes are for those who ask for them; a plaintext body is refused with such a ticket.
  // Where they cannot serve either, the plaintext refusal is the one that names what is wrong.
  const encrypted =
    !plaintext.ok && asksForE2ee(asked)
      ? weakestReachableClass(asked, { ...needs, encrypted: true }, context)
      : plaintext;
  const weakest = encrypted.ok ? encrypted : plaintext;
  if (!weakest.ok) throw new ServiceError(weakest.refusal.type, weakest.refusal);

  const expiresAt = deps.now() + deps.ticketTtlMs;
  const shard = shardOfWallet(key.walletId);
  const ticket = seal(deps, key, { asked, modelType, reasoning, expiresAt, shard });
  const minted = await deps.state.mint({
    shard,
    ticketHash: hashSecret(ticket),
    walletId: key.walletId,
    keyHash: key.keyHash,
    ttlMs: deps.ticketTtlMs,
  });
  if (minted.result === 'not_projected') throw new ServiceError('service_unavailable');
  if (minted.result === 'insufficient') {
    const available = nusdToUsd(minted.availableNusd < 0n ? 0n : minted.availableNusd);
    throw new ServiceError('insufficient_balance', {
      message: `The prepaid balance is used up: ${available} USD is available. Top up, or wait for running requests to settle.`,
    });
  }
  return { ticket, privacy_class: weakest.value, expires_at: new Date(expiresAt).toISOString() };
}

const asksForE2ee = ({ provider }: TicketRequest): boolean =>
  typeof provider === 'string' || provider?.minimum_privacy === 'e2ee';

interface Sealing {
  readonly asked: TicketRequest;
  readonly modelType: ModelType;
  readonly reasoning: ReasoningSelection;
  readonly expiresAt: number;
  readonly shard: number;
}

function seal(
  deps: TicketDependencies,
  key: PresentedKey,
  { asked, modelType, reasoning, expiresAt, shard }: Sealing,
): string {
  const { model, models, provider } = asked;
  const operation = modelType === 'embedding' ? 'embeddings' : 'chat';
  return sealTicket(deps.ticketSealingKey, {
    v: 1,
    shard,
    generation: key.generation,
    expiresAt,
    bindings: bindingsOf({ operation, model, models, provider, reasoning: operation === 'chat' ? reasoning : {} }),
    preferences: key.preferences,
    accountRef: sealAccountRef(deps.accountRefKey, key),
  });
}

/** A chat or embeddings ticket binds no media; a field that would go unbound is a mistake worth telling. */
function refuseMediaFields(asked: TicketRequest): void {
  for (const field of ['size', 'response_format', 'input_chars', 'voice'] as const) {
    if (asked[field] != null) {
      throw new ServiceError('invalid_request', {
        message: `\`${field}\` belongs to tickets with \`operation\` image or speech.`,
        param: field,
      });
    }
  }
}

/** What kind of model the ticket is for: told by `operation`, else by the model itself. */
function modelTypeOf({ keeper }: TicketDependencies, { operation, model }: TicketRequest): ModelType {
  if (operation === 'chat') return 'text';
  if (operation === 'embeddings') return 'embedding';
  const { id } = parseModelReference(model);
  const type = id === autoModelId ? 'text' : keeper.catalog?.models.get(id)?.type;
  if (type === 'image' || type === 'tts') throw new ServiceError('media_disabled');
  return type ?? 'text';
}
