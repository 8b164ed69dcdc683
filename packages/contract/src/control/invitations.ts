import * as wire from '@sotto/wire';
import { contracts } from '../contract.ts';
import { pageNotes } from '../route.ts';

const id = { note: 'The id of an invitation in `GET /v1/invitations`.', id: 'invitation' } as const;
const examples = { body: { token: 'as the invitation has it' } };

/** Routes for the user who received an invitation. */
export const invitationContracts = contracts({
  'POST /v1/invitations/read': {
    operationId: 'readInvitation',
    summary: 'Read an invitation',
    credentials: ['session'],
    body: wire.invitationTokenSchema,
    answer: wire.invitationOfferAnswerSchema,
    returns: 'The offer.',
    examples,
    errors: ['not_found'],
  },
  'POST /v1/invitations/preview': {
    operationId: 'previewInvitation',
    summary: 'Preview an invitation',
    description: 'For users who have no account yet. The token of the invitation is the proof.',
    credentials: [],
    body: wire.invitationTokenSchema,
    answer: wire.invitationPreviewSchema,
    returns: 'The workspace, and the address of the inviting user.',
    examples,
    errors: ['not_found'],
  },
  'POST /v1/invitations/accept': {
    operationId: 'acceptInvitation',
    summary: 'Accept an invitation',
    credentials: ['session'],
    body: wire.invitationTokenSchema,
    answer: wire.workspaceAnswerSchema,
    returns: 'The workspace, with your new role.',
    examples,
    errors: ['not_found', 'conflict'],
    maximum: 'workspaces',
  },
  'POST /v1/invitations/decline': {
    operationId: 'declineInvitation',
    summary: 'Decline an invitation',
    credentials: ['session'],
    body: wire.invitationTokenSchema,
    status: 204,
    returns: 'The invitation is declined.',
    examples,
    errors: ['not_found'],
  },
  'GET /v1/invitations': {
    operationId: 'listWaitingInvitations',
    summary: 'List invitations to you',
    description: 'Needs a verified email address.',
    credentials: ['session'],
    query: { schema: wire.listQuerySchema, notes: pageNotes },
    answer: wire.waitingInvitationListAnswerSchema,
    returns: 'A page of invitations, oldest first.',
    errors: ['email_not_verified'],
  },
  'POST /v1/invitations/{id}/accept': {
    operationId: 'acceptWaitingInvitation',
    summary: 'Accept an invitation by its id',
    credentials: ['session'],
    params: { id },
    body: 'empty',
    answer: wire.workspaceAnswerSchema,
    returns: 'The workspace, with your new role.',
    errors: ['conflict', 'email_not_verified'],
    maximum: 'workspaces',
  },
  'POST /v1/invitations/{id}/decline': {
    operationId: 'declineWaitingInvitation',
    summary: 'Decline an invitation by its id',
    credentials: ['session'],
    params: { id },
    body: 'empty',
    status: 204,
    returns: 'The invitation is declined.',
    errors: ['email_not_verified'],
  },
});
