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
} from '@sotto/state';
import type { PrivacyClass } from '@sotto/wire';
import type { PresentedKey } from '../credentials/presented-key.ts';
import type { Projector } from '../projection/projector.ts';

export interface SealingDependencies {
  readonly ticketSealingKey: Buffer;
  readonly accountRefKey: Buffer;
  /** Whether every broker knows quiet tickets, which wallets then get. */
  readonly areBrokersQuiet: () => boolean;
}

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

/** Seals tickets for a planned request of this key. They are valid once their marks are placed. */
export function sealForKey(
  deps: SealingDependencies,
  key: PresentedKey,
  { bindings, needs, context, promised, expiresAt, attestation, count = 1 }: TicketOrder,
): readonly [string, ...string[]] {
  const envelope: Omit<TicketEnvelope, 'accountRef'> = {
    v: 1,
    shard: shardOfWallet(key.walletId),
    bindings: bindingsOf(bindings),
    ...(attestation === undefined ? {} : { attestation }),
    expiresAt: roundedExpiry(expiresAt),
    preferences: narrowPreferences(bindings, needs, context, promised),
    ...(key.isWallet && deps.areBrokersQuiet() ? { quiet: true as const } : {}),
  };
  const seal = (): string =>
    sealTicket(deps.ticketSealingKey, { ...envelope, accountRef: sealAccountRef(deps.accountRefKey, key) });
  return [seal(), ...Array.from({ length: count - 1 }, seal)];
}

export interface MarkDependencies {
  readonly state: ProjectionPort;
  readonly projector: Pick<Projector, 'account' | 'key'>;
  readonly ticketTtlMs: number;
}

/**
 * Writes the marks that make tickets valid. If the state does not have this version of the key or wallet yet, such as
 * after a CLI command created it, it is projected first. Otherwise, the tickets would be rejected as invalid. A key
 * that was remembered is not projected: the caller reads it again.
 */
export async function placeMarks(
  { state, projector, ticketTtlMs }: MarkDependencies,
  { keyId, keyHash, accountId, walletId, generation, rememberedBy }: PresentedKey,
  { tickets, free }: { readonly tickets: readonly string[]; readonly free: boolean },
): Promise<MintReply> {
  const mint = (): Promise<MintReply> =>
    state.mint({
      ...{ shard: shardOfWallet(walletId), ticketHashes: tickets.map(hashSecret), walletId, keyHash, generation },
      ...{ secretHash: rememberedBy, ttlMs: ticketTtlMs, free },
    });
  const minted = await mint();
  if (minted.result !== 'not_projected' || rememberedBy !== undefined) return minted;
  await Promise.all([projector.account(accountId), projector.key(keyId)]);
  return mint();
}
