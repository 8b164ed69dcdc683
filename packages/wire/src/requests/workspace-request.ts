import * as z from 'zod';
import { workspaceRoleSchema } from '../workspace-role-schema.ts';
import { storableText } from './storable-text.ts';

const workspaceName = storableText.trim().min(1).max(100);

/** Body of `POST /workspaces` and of `PATCH /workspaces/:id`. */
export const workspaceNameSchema = z.strictObject({ name: workspaceName });

/** Body of `PATCH /workspaces/:id/members/:accountId`. Nobody becomes owner by it: that takes their consent. */
export const memberRoleSchema = z.strictObject({ role: workspaceRoleSchema.exclude(['owner']) });
export type MemberRole = z.infer<typeof memberRoleSchema>['role'];

/** Body of `POST /workspaces/:id/invitations`. The role `owner` offers the workspace itself. */
export const createInvitationSchema = z.strictObject({
  email: storableText.trim().toLowerCase().max(254).pipe(z.email()),
  role: workspaceRoleSchema,
});
export type CreateInvitation = z.infer<typeof createInvitationSchema>;

/** Body of `POST /invitations/read`, `/invitations/accept` and `/invitations/decline`. */
export const invitationTokenSchema = z.strictObject({ token: storableText.min(1).max(200) });
