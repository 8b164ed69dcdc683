import type { KeyAnswer } from '@sotto/contract/control/keys';
import { isRoleAtLeast, type WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { dayMs } from '../../format/days.ts';
import { textOf } from '../../format/read-search.ts';

/** The signed-in user, as a member of the workspace. */
interface Reader {
  readonly role: WorkspaceRole;
  /** Undefined until the members are loaded. */
  readonly accountId: string | undefined;
}

export const mayMakeKeys = (role: WorkspaceRole): boolean => isRoleAtLeast(role, 'member');

/** A management key reads the balance and usage of the whole account. */
export const mayMakeManagementKeys = (role: WorkspaceRole): boolean => isRoleAtLeast(role, 'owner');

/** Whether this user can change the keys of all members, and what an admin set on one. */
export const mayChangeAllKeys = (role: WorkspaceRole): boolean => isRoleAtLeast(role, 'admin');

/** Whether this user can change and revoke a key (`workspaces/permissions.ts` of control). */
export function mayChange(key: KeyAnswer, { role, accountId }: Reader): boolean {
  if (key.revoked_at !== null) return false;
  if (key.kind === 'management') return mayMakeManagementKeys(role);
  return isRoleAtLeast(role, key.created_by === accountId ? 'member' : 'admin');
}

type LimitState = 'open' | 'near' | 'reached';

/** The tone in which each state is shown. */
export const limitTones: Readonly<Record<LimitState, 'accent' | 'warn' | 'danger'>> = {
  open: 'accent',
  near: 'warn',
  reached: 'danger',
};

/** How much of a limit is used. */
export interface Used {
  readonly share: number;
  readonly state: LimitState;
}

/** Says how much of a limit is used. From the share `near` on it is nearly reached. A limit of 0 is always reached. */
export function usedOf(limitUsd: number, spentUsd: number, near: number): Used {
  const share = limitUsd === 0 ? 1 : spentUsd / limitUsd;
  return { share, state: share >= 1 ? 'reached' : share >= near ? 'near' : 'open' };
}

const nearShare = 0.9;

/** How close a key is to its limit; undefined without one. */
export function limitOf({
  credit_limit_usd: limitUsd,
  spent_usd: spent,
}: KeyAnswer): (Used & { readonly limitUsd: number }) | undefined {
  return limitUsd === null ? undefined : { limitUsd, ...usedOf(limitUsd, spent, nearShare) };
}

/** Whether a key is over: it was revoked, or expired a day ago. */
export const isOver = ({ revoked_at: revokedAt, expires_at: end }: KeyAnswer, now: number): boolean =>
  revokedAt !== null || (end !== null && Date.parse(end) <= now - dayMs);

/** The keys to show, newest first; those that are over last. */
export function findKeys(
  keys: readonly KeyAnswer[],
  { q = '', revoked }: KeySearch,
  { ownerOf, now }: { readonly ownerOf: (key: KeyAnswer) => string | undefined; readonly now: number },
): readonly KeyAnswer[] {
  const part = q.trim().toLowerCase();
  return keys
    .filter((key) => revoked === true || !isOver(key, now))
    .filter((key) =>
      `${key.name}\n${key.preview}\n${key.tag ?? ''}\n${ownerOf(key) ?? ''}`.toLowerCase().includes(part),
    )
    .toSorted(
      (left, right) =>
        Number(isOver(left, now)) - Number(isOver(right, now)) || right.created_at.localeCompare(left.created_at),
    );
}

/** Filters of the list of keys, as its address keeps them. */
export interface KeySearch {
  /** A part of the name, the preview, the tag or the owner. */
  readonly q?: string | undefined;
  /** Those that are over, too. */
  readonly revoked?: true | undefined;
}

export const readKeySearch = ({ q, revoked }: Readonly<Record<string, unknown>>): KeySearch => ({
  q: textOf(q, 100),
  revoked: revoked === true ? true : undefined,
});
