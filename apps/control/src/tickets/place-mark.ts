import { hashSecret, type MintReply, type ProjectionPort, shardOfWallet } from '@sotto/state';
import type { PresentedKey } from '../credentials/presented-key.ts';
import type { Projector } from '../projection/projector.ts';
import type { SealedTicket } from './seal-for-key.ts';

export interface MarkDependencies {
  readonly state: ProjectionPort;
  readonly projector: Pick<Projector, 'account' | 'key'>;
  readonly ticketTtlMs: number;
}

/**
 * Leaves the mark that makes a ticket good. A key or wallet that the brokers were not yet told of in this form, as one that a
 * command has just made, they are told of first: a ticket for it would be refused as invalid.
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
