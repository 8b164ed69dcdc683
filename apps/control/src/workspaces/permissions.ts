import { isRoleAtLeast, ServiceError, type WorkspaceRole } from '@sotto/wire';

/** The weakest role that may do something in a workspace. Everything that a session can ask of one is named here. */
export const weakestRoleFor = {
  /** Its name, preferences, members, keys without their secrets, usage with its cost; previews of routing. */
  read: 'viewer',
  useOwnKeys: 'member',
  useAllKeys: 'admin',
  rename: 'admin',
  writePreferences: 'admin',
  manageMembers: 'admin',
  /** A management key tells of the whole account's money. */
  makeManagementKeys: 'owner',
  handOver: 'owner',
  delete: 'owner',
} as const satisfies Record<string, WorkspaceRole>;

export type WorkspaceAction = keyof typeof weakestRoleFor;

export const mayDo = (role: WorkspaceRole, action: WorkspaceAction): boolean =>
  isRoleAtLeast(role, weakestRoleFor[action]);

/** Throws `forbidden` where a role is too weak, naming both. */
export function assertMay(role: WorkspaceRole, action: WorkspaceAction): void {
  if (mayDo(role, action)) return;
  const needed = weakestRoleFor[action];
  const orStronger = needed === 'owner' ? '' : ' or a stronger one';
  throw new ServiceError('forbidden', {
    message: `This takes the role \`${needed}\`${orStronger} in this workspace; yours is \`${role}\`.`,
  });
}
