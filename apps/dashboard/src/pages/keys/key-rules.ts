import { isRoleAtLeast, type KeyAnswer, type WorkspaceRole } from '@sotto/wire';
import type { KeySearch } from './key-search.ts';

/** The reader in the workspace whose keys are shown. */
export interface Reader {
  readonly role: WorkspaceRole;
  /** Undefined while it is not known. */
  readonly accountId: string | undefined;
}

export const mayMakeKeys = (role: WorkspaceRole): boolean => isRoleAtLeast(role, 'member');

/** A management key tells of the whole account's money. */
export const mayMakeManagementKeys = (role: WorkspaceRole): boolean => isRoleAtLeast(role, 'owner');

/** Whether a key can be changed and revoked by this reader (`workspaces/permissions.ts` of control). */
export function mayChange(key: KeyAnswer, { role, accountId }: Reader): boolean {
  if (key.revoked_at !== null) return false;
  if (key.kind === 'management') return mayMakeManagementKeys(role);
  return isRoleAtLeast(role, key.created_by === accountId ? 'member' : 'admin');
}

export type LimitState = 'open' | 'near' | 'reached';

const nearShare = 0.9;

/** How a key stands to its limit; undefined without one. */
export function limitOf({
  credit_limit_usd: limit,
  spent_usd: spent,
}: KeyAnswer): { readonly state: LimitState; readonly limitUsd: number; readonly share: number } | undefined {
  if (limit === null) return undefined;
  const share = limit === 0 ? 1 : spent / limit;
  return { state: share >= 1 ? 'reached' : share >= nearShare ? 'near' : 'open', limitUsd: limit, share };
}

/** The keys to show, newest first; revoked ones last. */
export function findKeys(keys: readonly KeyAnswer[], { q = '', revoked }: KeySearch): readonly KeyAnswer[] {
  const part = q.trim().toLowerCase();
  return keys
    .filter((key) => revoked === true || key.revoked_at === null)
    .filter(({ name }) => name.toLowerCase().includes(part))
    .toSorted(
      (left, right) =>
        Number(left.revoked_at !== null) - Number(right.revoked_at !== null) ||
        right.created_at.localeCompare(left.created_at),
    );
}
