import type {
  MemberRole,
  WorkspaceAnswer,
  WorkspaceInvitationAnswer,
  WorkspaceMemberAnswer,
  WorkspaceRole,
} from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

const pathOf = (id: string, rest = ''): string => `/workspaces/${encodeURIComponent(id)}${rest}`;

export const invitationsQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', id, 'invitations'],
    queryFn: async ({ signal }) =>
      (await call<{ data: readonly WorkspaceInvitationAnswer[] }>(pathOf(id, '/invitations'), { signal })).data,
  });

export const createWorkspace = (name: string): Promise<WorkspaceAnswer> =>
  call('/workspaces', { method: 'POST', body: { name } });

export const renameWorkspace = (id: string, name: string): Promise<WorkspaceAnswer> =>
  call(pathOf(id), { method: 'PATCH', body: { name } });

export const deleteWorkspace = (id: string): Promise<void> => call(pathOf(id), { method: 'DELETE' });

export const changeMemberRole = (id: string, accountId: string, role: MemberRole): Promise<WorkspaceMemberAnswer> =>
  call(pathOf(id, `/members/${accountId}`), { method: 'PATCH', body: { role } });

export const removeMember = (id: string, accountId: string): Promise<void> =>
  call(pathOf(id, `/members/${accountId}`), { method: 'DELETE' });

/** Invites an address; `token` in the answer is the only time that it is told. */
export const inviteAddress = (
  id: string,
  asked: { readonly email: string; readonly role: WorkspaceRole },
): Promise<WorkspaceInvitationAnswer & { readonly token: string }> =>
  call(pathOf(id, '/invitations'), { method: 'POST', body: asked });

export const withdrawInvitation = (id: string, invitationId: string): Promise<void> =>
  call(pathOf(id, `/invitations/${invitationId}`), { method: 'DELETE' });
