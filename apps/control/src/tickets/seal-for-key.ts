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
import { type Preferences, type PrivacyClass, strongest } from '@sotto/wire';
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
  /** The class that the ticket states. No request is served below it, whatever the catalog says later. */
  readonly promised: PrivacyClass;
  /** Unix ms. */
  readonly expiresAt: number;
  readonly attestation?: TicketEnvelope['attestation'];
  /** Default: 1. */
  readonly count?: number | undefined;
}

/** Tickets for the same request. */
interface SealedTickets {
  readonly tickets: readonly [string, ...string[]];
  readonly form: TicketForm;
}

/** Seals tickets for a planned request of this key. They are valid once their marks are placed. */
export function sealForKey(
  deps: SealingDependencies,
  key: PresentedKey,
  { bindings, needs, context, promised, expiresAt, attestation, count = 1 }: TicketOrder,
): SealedTickets {
  const form = deps.ticketForm();
  const shared = {
    shard: shardOfWallet(key.walletId),
    bindings: bindingsOf(bindings),
    ...(attestation === undefined ? {} : { attestation }),
  };
  const seal = (): string =>
    sealTicket(deps.ticketSealingKey, { ...envelope, accountRef: sealAccountRef(deps.accountRefKey, key) });
  const envelope: Omit<TicketEnvelope, 'accountRef'> =
    form === 1
      ? { v: 1, ...shared, generation: key.generation, expiresAt, preferences: withFloor(key.preferences, promised) }
      : {
          ...{ v: 2, ...shared, expiresAt: roundedExpiry(expiresAt) },
          preferences: narrowPreferences(bindings, needs, context, promised),
        };
  return { tickets: [seal(), ...Array.from({ length: count - 1 }, seal)], form };
}

const withFloor = (preferences: Preferences, promised: PrivacyClass): Preferences => ({
  ...preferences,
  provider_minimum_privacy: strongest(preferences.provider_minimum_privacy, promised),
});

export interface MarkDependencies {
  readonly state: ProjectionPort;
  readonly projector: Pick<Projector, 'account' | 'key'>;
  readonly ticketTtlMs: number;
}

/**
 * Writes the marks that make tickets valid. If the state does not know the key or wallet in this form yet, such as
 * after a CLI command created it, it is projected first. Otherwise, the tickets would be rejected as invalid. A key
 * that was remembered is not projected: the caller reads it again.
 */
export async function placeMarks(
  { state, projector, ticketTtlMs }: MarkDependencies,
  { keyId, keyHash, accountId, walletId, generation, rememberedBy }: PresentedKey,
  { tickets, form, free }: SealedTickets & { readonly free: boolean },
): Promise<MintReply> {
  const mint = (): Promise<MintReply> =>
    state.mint({
      ...{ shard: shardOfWallet(walletId), ticketHashes: tickets.map(hashSecret), walletId, keyHash, generation },
      ...{ secretHash: rememberedBy, form, ttlMs: ticketTtlMs, free },
    });
  const minted = await mint();
  if (minted.result !== 'not_projected' || rememberedBy !== undefined) return minted;
  await Promise.all([projector.account(accountId), projector.key(keyId)]);
  return mint();
}
