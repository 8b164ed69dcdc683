import { type Needs, narrowPreferences, type PlanningContext } from '@sotto/router';
import {
  bindingsOf,
  roundedExpiry,
  sealAccountRef,
  sealTicket,
  shardOfWallet,
  type TicketEnvelope,
  type TicketForm,
} from '@sotto/state';
import type { PresentedKey } from '../credentials/presented-key.ts';

export interface SealingDependencies {
  readonly ticketSealingKey: Buffer;
  readonly accountRefKey: Buffer;
  /** The newest form that every broker reads. */
  readonly ticketForm: () => TicketForm;
}

/** A planned request that a ticket is to be sealed for. */
export interface TicketOrder {
  readonly bindings: Parameters<typeof bindingsOf>[0];
  readonly needs: Needs;
  readonly context: PlanningContext;
  /** Unix ms. */
  readonly expiresAt: number;
  readonly attestation?: TicketEnvelope['attestation'];
}

export interface SealedTicket {
  readonly ticket: string;
  readonly form: TicketForm;
}

/** Seals a ticket for a request of this key that was planned. It is good once its mark is placed. */
export function sealForKey(
  deps: SealingDependencies,
  key: PresentedKey,
  { bindings, needs, context, expiresAt, attestation }: TicketOrder,
): SealedTicket {
  const form = deps.ticketForm();
  const shared = {
    shard: shardOfWallet(key.walletId),
    bindings: bindingsOf(bindings),
    ...(attestation === undefined ? {} : { attestation }),
    accountRef: sealAccountRef(deps.accountRefKey, key),
  };
  const envelope: TicketEnvelope =
    form === 1
      ? { v: 1, ...shared, generation: key.generation, expiresAt, preferences: key.preferences }
      : {
          ...{ v: 2, ...shared, expiresAt: roundedExpiry(expiresAt) },
          preferences: narrowPreferences(bindings, needs, context),
        };
  return { ticket: sealTicket(deps.ticketSealingKey, envelope), form };
}
