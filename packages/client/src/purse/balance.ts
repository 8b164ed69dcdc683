import { creditsPerBatch } from '@sotto/wire';
import type { PurseFile, StoredWallet } from './purse-file.ts';

/** A wallet that no running process holds. Its value is the time. */
export const isLeft = '(holder is null or lease_until <= ?)';

/** Wallets, and what they took. */
export interface Bound {
  readonly wallets: number;
  readonly credits: number;
  /** The packages that were paid for. */
  readonly packages: readonly string[];
}

/** The numbers of credits by what can be done with them, and when the next `creditsPerBatch` are ready. */
export function balanceOf(file: PurseFile, now: number) {
  const free = file.read<{ ready_at: number; aside: number }>(
    'select ready_at, aside from credits where wallet is null order by ready_at',
  );
  const usable = free.filter(({ aside }) => aside === 0);
  const count = (sql: string): number =>
    file.read<{ count: number }>(`select count(*) as count from ${sql}`)[0]?.count ?? 0;
  const bound = (which: string): Bound => {
    const wallets = file.read<Pick<StoredWallet, 'package_id'>>(
      `select package_id from wallets where state in ('taken', 'offered', 'open') and ${which}`,
      now,
    );
    const packages = wallets.flatMap(({ package_id }) => package_id ?? []);
    return {
      wallets: wallets.length,
      credits: (wallets.length - packages.length) * creditsPerBatch,
      packages,
    };
  };
  return {
    ready: usable.filter(({ ready_at }) => ready_at <= now).length,
    resting: usable.filter(({ ready_at }) => ready_at > now).length,
    aside: free.length - usable.length,
    /** Of processes that run, or ended without a word less than a lease ago. */
    inUse: bound(`not ${isLeft}`),
    abandoned: bound(isLeft),
    paidWallets: count("wallets where state = 'paid'"),
    orderedWallets: count("wallets where state = 'ordered'"),
    /** Unix ms. Undefined: there are too few credits. */
    readyAt: usable[creditsPerBatch - 1]?.ready_at,
  };
}

/** Says why there is no wallet. */
export function tooFew({ ready, resting, readyAt }: ReturnType<typeof balanceOf>): string {
  const when =
    readyAt === undefined
      ? '`sotto purse buy` buys more.'
      : `${creditsPerBatch} are ready at ${new Date(readyAt).toISOString()}.`;
  return `A wallet takes ${creditsPerBatch} rested credits. ${ready} are ready and ${resting} are resting. ${when}`;
}
