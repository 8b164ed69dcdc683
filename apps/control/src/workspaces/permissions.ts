import { isRoleAtLeast, type WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { Refused } from '../database/refused.ts';

/** The weakest role that may do each action in a workspace. Every action of a session on a workspace is listed. */
const weakestRoleFor = {
  /** Name, preferences, members, keys without their secrets, sums of usage with their cost, and routing previews. */
  read: 'viewer',
  useOwnKeys: 'member',
  /** Rows of usage. Those of keys that the member created. */
  readOwnRequests: 'member',
  readAllRequests: 'admin',
  useAllKeys: 'admin',
  rename: 'admin',
  writePreferences: 'admin',
  writePolicy: 'admin',
  manageMembers: 'admin',
  readAudit: 'admin',
  setBudgets: 'admin',
  /** A management key shows the whole account's money. */
  makeManagementKeys: 'owner',
  handOver: 'owner',
  delete: 'owner',
} as const satisfies Record<string, WorkspaceRole>;

export type WorkspaceAction = keyof typeof weakestRoleFor;

export const mayDo = (role: WorkspaceRole, action: WorkspaceAction): boolean =>
  isRoleAtLeast(role, weakestRoleFor[action]);

export interface WeakRole {
  readonly why: 'weak_role';
  readonly role: WorkspaceRole;
  /** The weakest role that may do it. */
  readonly needed: WorkspaceRole;
}

export const weakRole = (role: WorkspaceRole, action: WorkspaceAction): Refused<WeakRole> | undefined =>
  mayDo(role, action) ? undefined : new Refused({ why: 'weak_role', role, needed: weakestRoleFor[action] });
