import { bestOfBand, noNeeds, planAttested } from '@sotto/router';
import { type AttestationTicketAnswer, type AttestationTicketRequest, ServiceError } from '@sotto/wire';
import type { PresentedKey } from '../credentials/presented-key.ts';
import type { TicketDependencies } from './mint-ticket.ts';
import { placeMark } from './place-mark.ts';
import { sealForKey } from './seal-for-key.ts';

/**
 * Mints a single-use right to the evidence of one enclave. It is free. Throws where no enclave could serve such a request of this
 * key; nothing is held, and no balance is needed.
 */
export async function mintAttestationTicket(
  deps: TicketDependencies,
  key: PresentedKey,
  { model, provider }: AttestationTicketRequest,
): Promise<AttestationTicketAnswer> {
  const { catalog } = deps.keeper;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  const context = { catalog, preferences: key.preferences, status: deps.keeper.status(), random: bestOfBand };
  const planned = planAttested({ model, provider }, context);
  if (!planned.ok) throw new ServiceError(planned.refusal.type, planned.refusal);
  const expiresAt = deps.now() + deps.ticketTtlMs;
  const bindings = { operation: 'attestation', model, provider, reasoning: {} } as const;
  const needs = noNeeds(catalog.models.get(planned.value.modelId)?.type ?? 'text');
  const sealed = sealForKey(deps, key, { bindings, needs, context, expiresAt, attestation: { model, provider } });
  const minted = await placeMark(deps, key, { ...sealed, free: true });
  if (minted.result !== 'minted') throw new ServiceError('service_unavailable');
  return { ticket: sealed.ticket, expires_at: new Date(expiresAt).toISOString() };
}
