import type { AttestationTicketAnswer, AttestationTicketRequest, TicketAnswer } from '@sotto/contract/control/tickets';
import { isFree, nusdToUsd } from '@sotto/money';
import {
  asksForE2ee,
  type Decision,
  noNeeds,
  planAttested,
  planRequest,
  policyObject,
  weakestReachableClass,
  withinPolicy,
} from '@sotto/router';
import { describeBudget } from '@sotto/state';
import { assertModelsAllowed, type Operation, ServiceError, type TicketRequest } from '@sotto/wire';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import type { PresentedKey } from '../credentials/presented-key.ts';
import { type MarkDependencies, placeMarks, type SealingDependencies, sealForKey } from './seal-for-key.ts';
import { operationOf, readTicketQuestion } from './ticket-question.ts';

export interface TicketDependencies extends MarkDependencies, SealingDependencies {
  readonly keeper: CatalogKeeper;
  /** False for operations that this deployment has switched off. */
  readonly offers: (operation: Operation) => boolean;
  /** Returns a sentence about how an account without balance gets more. */
  readonly adviseOnEmpty: (accountId: string) => Promise<string>;
  readonly now: () => number;
}

/** Mints a single-use right to one request, or several. The request’s content is not sent to control. */
export async function mintTicket(
  deps: TicketDependencies,
  key: PresentedKey,
  asked: TicketRequest,
): Promise<TicketAnswer> {
  const catalog = deps.keeper.requireCatalog();
  const { workspaceModels } = key;
  const context = deps.keeper.planning(withinPolicy(key.preferences, { request: asked, catalog, workspaceModels }));
  const operation = operationOf(asked, context.catalog);
  if (!deps.offers(operation)) throw new ServiceError('media_disabled');
  assertModelsAllowed(key, asked);
  const { bindings, needs } = readTicketQuestion(asked, operation);
  const plaintext = weakestReachableClass(asked, needs, context);
  // Routes with end-to-end encryption serve only requests that ask for it, and brokers reject a plaintext body with
  // such a ticket.
  const encryptedNeeds = { ...needs, encrypted: true };
  const encrypted =
    !plaintext.ok && asksForE2ee(asked.provider, key.preferences)
      ? weakestReachableClass(asked, encryptedNeeds, context)
      : plaintext;
  // A request for encryption is refused in plaintext because it is one. Then the encrypted plan names the cause.
  const weakest = encrypted.ok || isForPrivacy(plaintext) ? encrypted : plaintext;
  if (!weakest.ok) throw new ServiceError(weakest.refusal.type, weakest.refusal);
  if (!plaintext.ok && policyObject(asked.provider).only?.length !== 1) throw noProviderToEncryptFor;
  // Such a ticket needs no balance and no budget. A body that leads to another route is refused at the broker, which sets aside
  // the money that it needs.
  const plan = planRequest(asked, plaintext.ok ? needs : encryptedNeeds, context);
  const free = plan.ok && plan.value.routes.every(({ price }) => isFree(price));

  const expiresAt = deps.now() + deps.ticketTtlMs;
  const count = asked.count ?? undefined;
  const tickets = sealForKey(deps, key, { bindings, needs, context, promised: weakest.value, expiresAt, count });
  const minted = await placeMarks(deps, key, { tickets, free });
  if (minted.result === 'not_projected') throw new ServiceError('service_unavailable');
  if (minted.result === 'over_budget') {
    throw new ServiceError('insufficient_balance', {
      message: `Nothing is left of ${describeBudget(minted.budget)}. Running requests count until they settle.`,
    });
  }
  if (minted.result === 'insufficient') {
    const available = nusdToUsd(minted.availableNusd < 0n ? 0n : minted.availableNusd);
    throw new ServiceError('insufficient_balance', {
      message:
        `The balance is used up: ${available} USD is available. Running requests count until they settle. ` +
        (await deps.adviseOnEmpty(key.accountId)),
    });
  }
  const [ticket] = tickets;
  return {
    ticket,
    ...(count === undefined ? {} : { tickets: [...tickets] }),
    privacy_class: weakest.value,
    expires_at: new Date(expiresAt).toISOString(),
  };
}

/** No body could use the ticket: an encrypted one needs exactly one provider in `only`, and the policy is bound. */
const noProviderToEncryptFor = new ServiceError('invalid_request', {
  message:
    'For end-to-end encryption, `provider.only` must name one provider, such as `["acme"]`: the client encrypts to its key.',
  param: 'provider.only',
});

const isForPrivacy = (decision: Decision<unknown>): boolean =>
  !decision.ok && decision.refusal.type === 'no_provider_route_meets_privacy';

/**
 * Mints a free, single-use right to the evidence of one enclave. It holds no funds and needs no balance. Throws if no
 * enclave could serve such a request of this key.
 */
export async function mintAttestationTicket(
  deps: TicketDependencies,
  key: PresentedKey,
  { model, provider }: AttestationTicketRequest,
): Promise<AttestationTicketAnswer> {
  const context = deps.keeper.planning(key.preferences);
  const planned = planAttested({ model, provider }, context);
  if (!planned.ok) throw new ServiceError(planned.refusal.type, planned.refusal);
  const expiresAt = deps.now() + deps.ticketTtlMs;
  const bindings = { operation: 'attestation', model, provider, reasoning: {} } as const;
  const needs = noNeeds(context.catalog.models.get(planned.value.modelId)?.type ?? 'text');
  const tickets = sealForKey(deps, key, {
    ...{ bindings, needs, context, expiresAt, attestation: { model, provider } },
    // Evidence carries no content, so this ticket states no class.
    promised: 'anonymous',
  });
  const minted = await placeMarks(deps, key, { tickets, free: true });
  if (minted.result !== 'minted') throw new ServiceError('service_unavailable');
  return { ticket: tickets[0], expires_at: new Date(expiresAt).toISOString() };
}
