import { type WorkspaceRole, workspaceRoles } from '@sotto/contract/control/workspace-role';

/** Names of the roles, and what each may do (docs/use/accounts-and-workspaces.md). */
export const roleWords: Readonly<Record<WorkspaceRole, { readonly name: string; readonly text: string }>> = {
  viewer: { name: 'Viewer', text: 'Sees members, keys without their secrets, preferences and totals of usage.' },
  member: {
    name: 'Member',
    text: 'Creates their own inference keys, which spend the owner’s balance, and sees the requests of these keys. Sees what a viewer sees.',
  },
  admin: {
    name: 'Admin',
    text: 'Manages all inference keys, their policy, preferences, members and invitations. Sees all requests.',
  },
  owner: { name: 'Owner', text: 'Pays for everything. Creates management keys, transfers and deletes the workspace.' },
};

/** Roles that an admin can give directly. To become owner, a member accepts an invitation. */
export const givenRoles = workspaceRoles.filter((role) => role !== 'owner');
