import { isRoleAtLeast, type WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { ServiceError } from '@sotto/wire';

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

/** Throws `forbidden` if a role is too weak. The message names both roles. */
export function assertMay(role: WorkspaceRole, action: WorkspaceAction): void {
  if (mayDo(role, action)) return;
  const needed = weakestRoleFor[action];
  const orStronger = needed === 'owner' ? '' : ' or a stronger one';
  throw new ServiceError('forbidden', {
    message: `This takes the role \`${needed}\`${orStronger} in this workspace; yours is \`${role}\`.`,
  });
}
