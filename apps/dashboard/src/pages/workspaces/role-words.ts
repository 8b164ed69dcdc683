import { type WorkspaceRole, workspaceRoles } from '@sotto/wire';

/** Roles as people call them, and what each may do (docs/guides/workspaces.md). */
export const roleWords: Readonly<Record<WorkspaceRole, { readonly name: string; readonly text: string }>> = {
  viewer: { name: 'Viewer', text: 'Sees members, keys without their secrets, preferences and usage.' },
  member: {
    name: 'Member',
    text: 'Makes inference keys of their own, which spend from the owner’s balance; sees what a viewer sees.',
  },
  admin: { name: 'Admin', text: 'Manages everybody’s inference keys, preferences, members and invitations.' },
  owner: { name: 'Owner', text: 'Pays for everything; makes management keys, hands over, deletes.' },
};

/** What somebody can be made without their consent; owner takes an invitation that they accept. */
export const givenRoles = workspaceRoles.filter((role) => role !== 'owner');
