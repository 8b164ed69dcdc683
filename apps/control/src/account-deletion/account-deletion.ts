import { setTimeout as sleep } from 'node:timers/promises';
import { type EpochPort, monthOf, type ProjectionPort, shardOfWallet } from '@sotto/state';
import { expireWithin } from '../billing/monthly-grants/expire-grants.ts';
import { inTransaction } from '../database/in-transaction.ts';
import type { Domain } from '../domain.ts';
import { debitWithin, ledgerAccounts, lockAccount } from '../ledger/post-transaction.ts';
import { unlessUnavailable } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { type DeletionObstacle, deleteAccount } from './delete-account.ts';
import { type EndingDependencies, endAccount } from './end-account.ts';

export interface DeletionDependencies extends EndingDependencies {
  readonly projector: Pick<Projector, 'keys' | 'account'>;
  readonly now: () => number;
  readonly onFailed: (error: unknown) => void;
}

/** How long the answer to a deletion waits until every broker knows that the keys are revoked. */
const answerWithinMs = 5_000;

/**
 * Deletes the account of a user. Returns why it cannot be done, or undefined. When this resolves, no request is admitted for the
 * account, unless the state was unavailable to this process: see `projectKeys`. If it has so many keys that revoking them takes longer than five seconds, the task below revokes the others.
 */
export async function removeAccount(deps: DeletionDependencies, userId: string): Promise<string | undefined> {
  const deletion = await deleteAccount(deps.pool, userId, { month: monthOf(deps.now()) });
  if ('obstacle' in deletion) return sentences[deletion.obstacle.kind](deletion.obstacle);
  await endDeleted(deps, deletion.accountId);
  return undefined;
}

/** Why the user cannot delete their account now, in a sentence to them. */
const sentences: Readonly<Record<DeletionObstacle['kind'], (obstacle: DeletionObstacle) => string>> = {
  deleted: () => 'This account is deleted already',
  operator: () => 'You administer this deployment. Have the operator role revoked first',
  paying: () => 'A payment is under way. Wait until it is paid or has expired',
  shared: ({ workspaceName }) =>
    `Your workspace “${workspaceName}” has other members. Transfer it or remove them first`,
};

/**
 * Tells the brokers of a deleted account and revokes its keys. Resolves after five seconds even if keys are left, which the task below
 * revokes. If control alone cannot reach the state, brokers go on admitting requests until the projector has caught up. They are charged.
 */
export async function endDeleted(deps: DeletionDependencies, accountId: string): Promise<void> {
  await deps.projector.account(accountId).catch(unlessUnavailable);
  const ending = (async () => {
    while (await endAccount(deps, accountId));
  })().catch(deps.onFailed);
  await Promise.race([ending, sleep(answerWithinMs, undefined, { ref: false })]);
}

export interface ClosingDependencies extends EndingDependencies {
  readonly state: Pick<ProjectionPort, 'readWallet'> & Pick<EpochPort, 'isOpen'>;
  /** Writes an account's balance to the state. */
  readonly project: (accountId: string) => Promise<void>;
}

/**
 * Books the rest of a deleted account, once none of its requests can still be charged. Every broker then knows that its keys
 * are revoked, and the state has no hold and no unbooked charge of it. Monthly grants expire, and the rest is forfeited. Money
 * that arrives later stays in the wallet, for the operator to refund. Returns whether the account is closed.
 */
async function closeAccount({ pool, state }: ClosingDependencies, accountId: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const account = await lockAccount(client, accountId);
    const { rows } = await client.query<{ is_due: boolean }>(
      `select deleted_at is not null and closed_at is null and not exists (
         select from api_keys where (account_id = a.id or created_by = a.id)
           and (revoked_at is null or projected_generation < generation)
       ) as is_due from accounts a where id = $1`,
      [accountId],
    );
    if (account === undefined || rows[0]?.is_due !== true) return false;
    // Read after the lock: no charge is booked from here on, so each is in the balance or unbooked in the state, or both.
    const wallet = await state.readWallet(shardOfWallet(account.walletId), account.walletId);
    if (wallet === undefined || wallet.heldNusd > 0n || wallet.unbookedNusd > 0n) return false;
    const expiredNusd = await expireWithin(client, accountId, {
      ...{ account, isPast: () => true },
      spareOf: () => account.balanceNusd,
    });
    const amountNusd = account.balanceNusd - expiredNusd;
    const reference = `account_deleted:${accountId}`;
    const rest = { accountId, amountNusd, kind: 'adjustment', reference, to: ledgerAccounts.forfeited } as const;
    if (amountNusd > 0n) await debitWithin(client, rest);
    await client.query('update accounts set closed_at = now() where id = $1', [accountId]);
    return true;
  });
}

const closeMs = 6_000;
const isClosing = 'exists (select from accounts where deleted_at is not null and closed_at is null)';
const batch = 50;

/**
 * Ends and closes deleted accounts, one step of each at a time, so that an account with many keys does not hold up the others. A
 * deletion that was interrupted goes on here. Every control process runs this: the rows' locks keep them apart.
 */
export function buildAccountDeletion(deps: ClosingDependencies): Domain {
  const closeDue = async (): Promise<boolean> => {
    const { rows } = await deps.pool.query<{ id: string }>(
      `select id from accounts where deleted_at is not null and closed_at is null order by random() limit ${batch}`,
    );
    let hasMore = false;
    for (const { id } of rows) {
      const isEnding = await endAccount(deps, id);
      hasMore ||= isEnding;
      // A shard that is being rebuilt does not know all holds.
      if (!isEnding && (await deps.state.isOpen()) && (await closeAccount(deps, id))) await deps.project(id);
    }
    return hasMore;
  };
  return {
    tasks: (failed, due) => [
      due.when({ question: isClosing, everyMs: closeMs }, closeDue, failed('closing of deleted accounts')),
    ],
  };
}
