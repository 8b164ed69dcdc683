import { type Needs, narrowPreferences, type PlanningContext } from '@sotto/router';
import {
  bindingsOf,
  hashSecret,
  type MintReply,
  type ProjectionPort,
  roundedExpiry,
  sealAccountRef,
  sealTicket,
  shardOfWallet,
  type TicketEnvelope,
  type TicketForm,
} from '@sotto/state';
import type { PresentedKey } from '../credentials/presented-key.ts';
import type { Projector } from '../projection/projector.ts';

export interface SealingDependencies {
  readonly ticketSealingKey: Buffer;
  readonly accountRefKey: Buffer;
  /** The newest form that every broker reads. */
  readonly ticketForm: () => TicketForm;
}

/** A planned request to seal a ticket for. */
export interface TicketOrder {
  readonly bindings: Parameters<typeof bindingsOf>[0];
  readonly needs: Needs;
  readonly context: PlanningContext;
  /** Unix ms. */
  readonly expiresAt: number;
  readonly attestation?: TicketEnvelope['attestation'];
}

interface SealedTicket {
  readonly ticket: string;
  readonly form: TicketForm;
}

/** Seals a ticket for a planned request of this key. It is valid once its mark is placed. */
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

export interface MarkDependencies {
  readonly state: ProjectionPort;
  readonly projector: Pick<Projector, 'account' | 'key'>;
  readonly ticketTtlMs: number;
}

/**
 * Writes the mark that makes a ticket valid. If the state does not know the key or wallet in this form yet, such as
 * after a CLI command created it, it is projected first. Otherwise, the ticket would be rejected as invalid.
 */
export async function placeMark(
  { state, projector, ticketTtlMs }: MarkDependencies,
  { keyId, keyHash, accountId, walletId, generation }: PresentedKey,
  { ticket, form, free = false }: SealedTicket & { readonly free?: boolean },
): Promise<MintReply> {
  const mint = (): Promise<MintReply> =>
    state.mint({
      ...{ shard: shardOfWallet(walletId), ticketHash: hashSecret(ticket), walletId, keyHash, generation },
      ...{ form, ttlMs: ticketTtlMs, free },
    });
  const minted = await mint();
  if (minted.result !== 'not_projected') return minted;
  await Promise.all([projector.account(accountId), projector.key(keyId)]);
  return mint();
}
