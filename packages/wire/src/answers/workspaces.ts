import * as z from 'zod';
import { workspaceRoleSchema } from '../field-schemas.ts';
import { pageOfSchema } from './page.ts';

const instant = z.iso.datetime();

/** A workspace as the caller sees it. `role` is the caller's role. */
export const workspaceAnswerSchema = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  is_default: z.boolean(),
  role: workspaceRoleSchema,
  created_at: instant,
});
export type WorkspaceAnswer = z.infer<typeof workspaceAnswerSchema>;

/** Answer of `GET /workspaces`: workspaces that the account owns or joined. */
export const workspaceListAnswerSchema = pageOfSchema(workspaceAnswerSchema);

/** A member of a workspace. `email` is null if the account has no user who signs in. */
export const workspaceMemberAnswerSchema = z.strictObject({
  account_id: z.uuid(),
  email: z.string().nullable(),
  role: workspaceRoleSchema,
  joined_at: instant,
});
export type WorkspaceMemberAnswer = z.infer<typeof workspaceMemberAnswerSchema>;

/** Answer of `GET /workspaces/:id/members`: the owner first. */
export const workspaceMemberListAnswerSchema = pageOfSchema(workspaceMemberAnswerSchema);

/** A monthly budget. Its member or key is null if it limits others. */
export const budgetAnswerSchema = z.strictObject({
  id: z.uuid(),
  scope: z.enum(['workspace', 'member', 'key']),
  member_id: z.uuid().nullable(),
  key_id: z.uuid().nullable(),
  limit_usd: z.number(),
  /** UTC, `YYYY-MM`. */
  month: z.string(),
  /** Charges of the month. Running requests are not in it. */
  spent_usd: z.number(),
  month_ends_at: instant,
});
export type BudgetAnswer = z.infer<typeof budgetAnswerSchema>;

/** Answer of `GET /workspaces/:id/budgets`. */
export const budgetListAnswerSchema = pageOfSchema(budgetAnswerSchema);

/** A pending invitation. Only the answer that created it has `token`. */
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

/** Answer of `GET /workspaces/:id/invitations`. */
export const workspaceInvitationListAnswerSchema = pageOfSchema(workspaceInvitationAnswerSchema);

/** Answer of `POST /invitations/read`: the workspace that the token invites to. */
export const invitationOfferAnswerSchema = z.strictObject({
  workspace: z.string(),
  role: workspaceRoleSchema,
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

/** Answer of `GET /invitations`. */
export const waitingInvitationListAnswerSchema = pageOfSchema(waitingInvitationAnswerSchema);

/** Where the budget alerts of a workspace are sent. */
const webhookSchema = z.strictObject({ url: z.string(), created_at: instant });

/** Answer of `GET /workspaces/:id/webhook`. */
export const alertWebhookAnswerSchema = z.strictObject({ webhook: webhookSchema.nullable() });
export type AlertWebhookAnswer = z.infer<typeof alertWebhookAnswerSchema>;

/** Answer of `PUT /workspaces/:id/webhook`, the only one that has the signing secret. */
export const newAlertWebhookAnswerSchema = webhookSchema.extend({ secret: z.string() });
export type NewAlertWebhookAnswer = z.infer<typeof newAlertWebhookAnswerSchema>;

/** The result of sending an event to a webhook. */
export const webhookDeliverySchema = z.strictObject({
  outcome: z.enum(['delivered', 'refused', 'redirected', 'timeout', 'unreachable', 'address_not_public']),
  /** The status of the answer. Null: there was none. */
  status: z.number().nullable(),
});
export type WebhookDelivery = z.infer<typeof webhookDeliverySchema>;
