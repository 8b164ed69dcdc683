import type { MemberRole, WorkspaceRole } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

export const invitationsQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', id, 'invitations'],
    queryFn: async ({ signal }) => (await call('GET /v1/workspaces/{id}/invitations', { params: { id }, signal })).data,
  });

export const createWorkspace = (name: string) => call('POST /v1/workspaces', { body: { name } });

export const renameWorkspace = (id: string, name: string) =>
  call('PATCH /v1/workspaces/{id}', { params: { id }, body: { name } });

export const deleteWorkspace = (id: string) => call('DELETE /v1/workspaces/{id}', { params: { id } });

export const changeMemberRole = (id: string, memberId: string, role: MemberRole) =>
  call('PATCH /v1/workspaces/{id}/members/{memberId}', { params: { id, memberId }, body: { role } });

export const removeMember = (id: string, memberId: string) =>
  call('DELETE /v1/workspaces/{id}/members/{memberId}', { params: { id, memberId } });

/** Invites an address; `token` in the answer is the only time that it is told. */
export const inviteAddress = (id: string, body: { readonly email: string; readonly role: WorkspaceRole }) =>
  call('POST /v1/workspaces/{id}/invitations', { params: { id }, body });

export const withdrawInvitation = (id: string, invitationId: string) =>
  call('DELETE /v1/workspaces/{id}/invitations/{invitationId}', { params: { id, invitationId } });
