import { nusdToUsd } from '@sotto/money';
import { asksForE2ee, bestOfBand, weakestReachableClass } from '@sotto/router';
import { type Operation, ServiceError, type TicketAnswer, type TicketRequest } from '@sotto/wire';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import type { PresentedKey } from '../credentials/presented-key.ts';
import { type MarkDependencies, placeMark } from './place-mark.ts';
import { type SealingDependencies, sealForKey } from './seal-for-key.ts';
import { operationOf, readTicketQuestion } from './ticket-question.ts';

export interface TicketDependencies extends MarkDependencies, SealingDependencies {
  readonly keeper: CatalogKeeper;
  /** False for what is switched off on this deployment. */
  readonly offers: (operation: Operation) => boolean;
  readonly now: () => number;
}

/** Mints a single-use right to one request. Nothing of its content comes here. */
export async function mintTicket(
  deps: TicketDependencies,
  key: PresentedKey,
  asked: TicketRequest,
): Promise<TicketAnswer> {
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
  const sealed = sealForKey(deps, key, { bindings, needs, context, expiresAt });
  const minted = await placeMark(deps, key, sealed);
  if (minted.result === 'not_projected') throw new ServiceError('service_unavailable');
  if (minted.result === 'insufficient') {
    const available = nusdToUsd(minted.availableNusd < 0n ? 0n : minted.availableNusd);
    throw new ServiceError('insufficient_balance', {
      message: `The prepaid balance is used up: ${available} USD is available. Top up, or wait for running requests to settle.`,
    });
  }
  return { ticket: sealed.ticket, privacy_class: weakest.value, expires_at: new Date(expiresAt).toISOString() };
}
