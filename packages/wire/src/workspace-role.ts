import * as z from 'zod';

/** What somebody may be in a workspace, weakest first. */
export const workspaceRoles = ['viewer', 'member', 'admin', 'owner'] as const;
// Marked so that pages which want the list alone do without the library.
export const workspaceRoleSchema = /* @__PURE__ */ z.enum(workspaceRoles);
export type WorkspaceRole = z.infer<typeof workspaceRoleSchema>;

/** Whether a role is at least as strong as another. */
export const isRoleAtLeast = (role: WorkspaceRole, least: WorkspaceRole): boolean =>
  workspaceRoles.indexOf(role) >= workspaceRoles.indexOf(least);
