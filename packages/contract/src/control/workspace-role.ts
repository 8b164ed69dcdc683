/** Roles in a workspace, weakest first. */
export const workspaceRoles = ['viewer', 'member', 'admin', 'owner'] as const;
export type WorkspaceRole = (typeof workspaceRoles)[number];

/** Whether a role is at least as strong as another. */
export const isRoleAtLeast = (role: WorkspaceRole, least: WorkspaceRole): boolean =>
  workspaceRoles.indexOf(role) >= workspaceRoles.indexOf(least);
