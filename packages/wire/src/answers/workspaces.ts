import * as z from 'zod';
import { workspaceRoleSchema } from '../workspace-role-schema.ts';

const instant = z.iso.datetime();

/** A workspace as whoever asks sees it: `role` is their own. */
export const workspaceAnswerSchema = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  is_default: z.boolean(),
  role: workspaceRoleSchema,
  created_at: instant,
});
export type WorkspaceAnswer = z.infer<typeof workspaceAnswerSchema>;

/** Answer of `GET /workspaces`: the account's own, then those it was invited to. */
export const workspaceListAnswerSchema = z.strictObject({ data: z.array(workspaceAnswerSchema) });

/** Somebody in a workspace. `email` is null where the account belongs to nobody who signs in. */
export const workspaceMemberAnswerSchema = z.strictObject({
  account_id: z.uuid(),
  email: z.string().nullable(),
  role: workspaceRoleSchema,
  joined_at: instant,
});
export type WorkspaceMemberAnswer = z.infer<typeof workspaceMemberAnswerSchema>;

/** Answer of `GET /workspaces/:id/members`: the owner first. */
export const workspaceMemberListAnswerSchema = z.strictObject({ data: z.array(workspaceMemberAnswerSchema) });

/** An invitation that waits; `token` is there once, in the answer that made it. */
export const workspaceInvitationAnswerSchema = z.strictObject({
  id: z.uuid(),
  email: z.string(),
  role: workspaceRoleSchema,
  created_at: instant,
  expires_at: instant,
  token: z.string().optional(),
});
export type WorkspaceInvitationAnswer = z.infer<typeof workspaceInvitationAnswerSchema>;

/** Answer of `POST /workspaces/:id/invitations`, the only one that has the token. */
export const newWorkspaceInvitationAnswerSchema = workspaceInvitationAnswerSchema.required({ token: true });
export type NewInvitationAnswer = z.infer<typeof newWorkspaceInvitationAnswerSchema>;

/** Answer of `GET /workspaces/:id/invitations`. */
export const workspaceInvitationListAnswerSchema = z.strictObject({ data: z.array(workspaceInvitationAnswerSchema) });

/** Answer of `POST /invitations/read`: what the holder of a token is invited to. */
export const invitationOfferAnswerSchema = z.strictObject({
  workspace: z.string(),
  role: workspaceRoleSchema,
  /** Null where the owner's account belongs to nobody who signs in. */
  invited_by: z.string().nullable(),
  expires_at: instant,
});
export type InvitationOfferAnswer = z.infer<typeof invitationOfferAnswerSchema>;

/** An invitation that waits for the address of whoever asks; its `id` accepts or declines it. */
export const waitingInvitationAnswerSchema = invitationOfferAnswerSchema.extend({ id: z.uuid() });
export type WaitingInvitationAnswer = z.infer<typeof waitingInvitationAnswerSchema>;

/** Answer of `GET /invitations`. */
export const waitingInvitationListAnswerSchema = z.strictObject({ data: z.array(waitingInvitationAnswerSchema) });
