import type { ErrorType } from '@sotto/wire';
import { anywhere, ofBodies, ofSessions } from '../errors.ts';
import { type AnswerDescription, json, type RouteDescription } from '../route.ts';
import { emptyBody } from './session-route.ts';

const tag = 'Workspaces';
const id = 'The id of a workspace that the account is in.';
const ofWorkspaces = [...anywhere, ...ofSessions, 'not_found'] as const satisfies ErrorType[];
const gone = (description: string): AnswerDescription => ({ status: 204, description });

type Described = Omit<RouteDescription, 'tag' | 'credentials'>;
const bySession = (routes: readonly Described[]): RouteDescription[] =>
  routes.map((route) => ({ ...route, tag, credentials: ['session'] }));

const waiting = 'The id of an invitation, as `GET /v1/invitations` has it.';
const token = { content: [json('InvitationToken', { token: 'as the invitation has it' })] };

export const workspaceRoutes: readonly RouteDescription[] = bySession([
  {
    method: 'get',
    path: '/v1/workspaces',
    operationId: 'listWorkspaces',
    summary: 'Workspaces',
    answers: [
      {
        status: 200,
        description: 'Those of the account, then those it was invited to.',
        content: [json('WorkspaceList')],
      },
    ],
    errors: [...anywhere, ...ofSessions],
  },
  {
    method: 'post',
    path: '/v1/workspaces',
    operationId: 'createWorkspace',
    summary: 'Make a workspace',
    body: { content: [json('WorkspaceName', { name: 'Research' })] },
    answers: [{ status: 201, description: 'The workspace.', content: [json('Workspace')] }],
    errors: [...anywhere, ...ofBodies, ...ofSessions, 'conflict'],
  },
  {
    method: 'patch',
    path: '/v1/workspaces/{id}',
    operationId: 'renameWorkspace',
    summary: 'Rename a workspace',
    pathParameters: { id },
    body: { content: [json('WorkspaceName', { name: 'Research and teaching' })] },
    answers: [{ status: 200, description: 'The workspace, as it is now.', content: [json('Workspace')] }],
    errors: [...ofWorkspaces, ...ofBodies],
  },
  {
    method: 'delete',
    path: '/v1/workspaces/{id}',
    operationId: 'deleteWorkspace',
    summary: 'Delete a workspace',
    description: 'Its keys are revoked; usage stays. A default one stays, too.',
    pathParameters: { id },
    answers: [gone('It is gone.')],
    errors: [...ofWorkspaces, 'conflict'],
  },
  {
    method: 'get',
    path: '/v1/workspaces/{id}/members',
    operationId: 'listMembers',
    summary: 'Members',
    pathParameters: { id },
    answers: [{ status: 200, description: 'The members, the owner first.', content: [json('WorkspaceMemberList')] }],
    errors: ofWorkspaces,
  },
  {
    method: 'patch',
    path: '/v1/workspaces/{id}/members/{memberId}',
    operationId: 'changeMemberRole',
    summary: "Change a member's role",
    pathParameters: { id, memberId: "The member's account id." },
    body: { content: [json('MemberRole', { role: 'viewer' })] },
    answers: [{ status: 200, description: 'The member, as they are now.', content: [json('WorkspaceMember')] }],
    errors: [...ofWorkspaces, ...ofBodies, 'conflict'],
  },
  {
    method: 'delete',
    path: '/v1/workspaces/{id}/members/{memberId}',
    operationId: 'removeMember',
    summary: 'Remove a member, or leave',
    pathParameters: { id, memberId: "The member's account id." },
    answers: [gone('They are no longer a member, and their keys are revoked.')],
    errors: [...ofWorkspaces, 'conflict'],
  },
  {
    method: 'get',
    path: '/v1/workspaces/{id}/invitations',
    operationId: 'listInvitations',
    summary: 'Invitations that wait',
    pathParameters: { id },
    answers: [{ status: 200, description: 'The invitations.', content: [json('WorkspaceInvitationList')] }],
    errors: ofWorkspaces,
  },
  {
    method: 'post',
    path: '/v1/workspaces/{id}/invitations',
    operationId: 'createInvitation',
    summary: 'Invite an address',
    pathParameters: { id },
    body: { content: [json('CreateInvitation', { email: 'ben@example.com', role: 'member' })] },
    answers: [
      {
        status: 201,
        description: 'The invitation. Its token is shown here alone.',
        content: [json('WorkspaceInvitation')],
      },
    ],
    errors: [...ofWorkspaces, ...ofBodies, 'conflict'],
  },
  {
    method: 'delete',
    path: '/v1/workspaces/{id}/invitations/{invitationId}',
    operationId: 'withdrawInvitation',
    summary: 'Withdraw an invitation',
    pathParameters: { id, invitationId: 'The id of an invitation that waits.' },
    answers: [gone('It is withdrawn.')],
    errors: ofWorkspaces,
  },
  {
    method: 'post',
    path: '/v1/invitations/read',
    operationId: 'readInvitation',
    summary: 'What one is invited to',
    body: token,
    answers: [{ status: 200, description: 'The offer.', content: [json('InvitationOffer')] }],
    errors: [...ofWorkspaces, ...ofBodies],
  },
  {
    method: 'post',
    path: '/v1/invitations/accept',
    operationId: 'acceptInvitation',
    summary: 'Accept an invitation',
    body: token,
    answers: [{ status: 200, description: 'The workspace, with the new role.', content: [json('Workspace')] }],
    errors: [...ofWorkspaces, ...ofBodies, 'conflict'],
  },
  {
    method: 'post',
    path: '/v1/invitations/decline',
    operationId: 'declineInvitation',
    summary: 'Decline an invitation',
    body: token,
    answers: [gone('It is declined.')],
    errors: [...ofWorkspaces, ...ofBodies],
  },
  {
    method: 'get',
    path: '/v1/invitations',
    operationId: 'listWaitingInvitations',
    summary: 'Invitations that wait for oneself',
    description: 'For whoever has verified their address.',
    answers: [{ status: 200, description: 'The invitations.', content: [json('WaitingInvitationList')] }],
    errors: [...anywhere, ...ofSessions, 'email_not_verified'],
  },
  {
    method: 'post',
    path: '/v1/invitations/{id}/accept',
    operationId: 'acceptWaitingInvitation',
    summary: 'Accept an invitation of the list',
    pathParameters: { id: waiting },
    body: emptyBody,
    answers: [{ status: 200, description: 'The workspace, with the new role.', content: [json('Workspace')] }],
    errors: [...ofWorkspaces, 'conflict', 'email_not_verified'],
  },
  {
    method: 'post',
    path: '/v1/invitations/{id}/decline',
    operationId: 'declineWaitingInvitation',
    summary: 'Decline an invitation of the list',
    pathParameters: { id: waiting },
    body: emptyBody,
    answers: [gone('It is declined.')],
    errors: [...ofWorkspaces, 'email_not_verified'],
  },
]);
