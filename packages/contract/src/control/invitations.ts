import * as z from 'zod';
import { contracts } from '../contract.ts';
import { instant } from '../fields.ts';
import { listQuerySchema, pageOf } from '../lists.ts';
import { workspaceAnswerSchema, workspaceRole } from './workspaces.ts';

export const invitationTokenSchema = z.strictObject({ token: z.string().min(1).max(200) });

/** Answer of `POST /invitations/read`: the workspace that the token invites to. */
export const invitationOfferAnswerSchema = z.strictObject({
  workspace: z.string(),
  role: workspaceRole,
  /** Null if the owner's account has no user who signs in. */
  invited_by: z.string().nullable(),
  expires_at: instant,
});
export type InvitationOfferAnswer = z.infer<typeof invitationOfferAnswerSchema>;

/** The part of an invitation that its token shows to a person who is not signed in. */
export const invitationPreviewSchema = invitationOfferAnswerSchema.pick({ workspace: true, invited_by: true });
export type InvitationPreview = z.infer<typeof invitationPreviewSchema>;

/** A pending invitation for the caller's email address. Its `id` accepts or declines it. */
export const waitingInvitationAnswerSchema = invitationOfferAnswerSchema.extend({ id: z.uuid() });
export type WaitingInvitationAnswer = z.infer<typeof waitingInvitationAnswerSchema>;

export const waitingInvitationListAnswerSchema = pageOf(waitingInvitationAnswerSchema);

const id = { note: 'The id of an invitation in `GET /v1/invitations`.', id: 'invitation' } as const;

const examples = { body: { token: 'as the invitation has it' } };

/** Routes for the user who received an invitation. */
export const invitationContracts = contracts({
  'POST /v1/invitations/read': {
    operationId: 'readInvitation',
    summary: 'Read an invitation',
    credentials: ['session'],
    body: invitationTokenSchema,
    answer: invitationOfferAnswerSchema,
    returns: 'The offer.',
    examples,
    errors: ['not_found'],
  },
  'POST /v1/invitations/preview': {
    operationId: 'previewInvitation',
    summary: 'Preview an invitation',
    description: 'For users who have no account yet. The token of the invitation is the proof.',
    credentials: [],
    body: invitationTokenSchema,
    answer: invitationPreviewSchema,
    returns: 'The workspace, and the address of the inviting user.',
    examples,
    errors: ['not_found'],
  },
  'POST /v1/invitations/accept': {
    operationId: 'acceptInvitation',
    summary: 'Accept an invitation',
    credentials: ['session'],
    body: invitationTokenSchema,
    answer: workspaceAnswerSchema,
    returns: 'The workspace, with your new role.',
    examples,
    errors: ['not_found', 'conflict'],
    maximum: 'workspaces',
  },
  'POST /v1/invitations/decline': {
    operationId: 'declineInvitation',
    summary: 'Decline an invitation',
    credentials: ['session'],
    body: invitationTokenSchema,
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
    query: listQuerySchema,
    answer: waitingInvitationListAnswerSchema,
    returns: 'A page of invitations, oldest first.',
    errors: ['email_not_verified'],
  },
  'POST /v1/invitations/{id}/accept': {
    operationId: 'acceptWaitingInvitation',
    summary: 'Accept an invitation by its id',
    credentials: ['session'],
    params: { id },
    body: 'empty',
    answer: workspaceAnswerSchema,
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
