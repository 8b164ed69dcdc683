import { omittable } from '@sotto/wire';
import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { givenId, instant, keyTag, limitUsd } from '../fields.ts';
import { listQuerySchema, pageOf } from '../lists.ts';
import { workspaceRoles } from './workspace-role.ts';

export const workspaceRole = z.enum(workspaceRoles);

/** A workspace as the caller sees it. `role` is the caller's role. */
export const workspaceAnswerSchema = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  is_default: z.boolean(),
  role: workspaceRole,
  owner_email: z
    .string()
    .nullable()
    .describe("The owner's address. Null if the owner's account has no user who signs in."),
  created_at: instant,
});
export type WorkspaceAnswer = z.infer<typeof workspaceAnswerSchema>;

/** Answer of `GET /workspaces`: workspaces that the account owns or joined. */
export const workspaceListAnswerSchema = pageOf(workspaceAnswerSchema);

const workspaceName = z.string().trim().min(1).max(100);

export const workspaceNameSchema = z.strictObject({ name: workspaceName });

/** A member of a workspace. `email` is null if the account has no user who signs in. */
export const workspaceMemberAnswerSchema = z.strictObject({
  account_id: z.uuid(),
  email: z.string().nullable(),
  role: workspaceRole,
  by_group: z
    .boolean()
    .describe(
      'Whether a group of the OpenID provider gives the role. It then changes and ends with the group. A role that a person gives is not changed by groups.',
    ),
  joined_at: instant,
  disabled: z
    .boolean()
    .describe('Whether an operator disabled the account. Its keys here do not work then, and it cannot sign in.'),
});
export type WorkspaceMemberAnswer = z.infer<typeof workspaceMemberAnswerSchema>;

/** Answer of `GET /workspaces/:id/members`: the owner first. */
export const workspaceMemberListAnswerSchema = pageOf(workspaceMemberAnswerSchema);

/** Body of `PATCH /workspaces/:id/members/:accountId`. It cannot make an owner, because that needs the member's consent. */
export const memberRoleSchema = z.strictObject({ role: workspaceRole.exclude(['owner']) });
export type MemberRole = z.infer<typeof memberRoleSchema>['role'];

/** A monthly budget. Its member, key or tag is null if it limits others. */
export const budgetAnswerSchema = z.strictObject({
  id: z.uuid(),
  scope: z.enum(['workspace', 'member', 'tag', 'key']),
  member_id: z.uuid().nullable(),
  key_id: z.uuid().nullable(),
  tag: z.string().nullable(),
  limit_usd: z.number(),
  is_default: z.boolean().describe('It follows the budget of the workspace for members without one of their own.'),
  /** UTC, `YYYY-MM`. */
  month: z.string(),
  spent_usd: z
    .number()
    .describe(
      'The charges of the month. Running requests count against the budget, but are not in this sum. A charge counts for the tag that its key had when the request began.',
    ),
  month_ends_at: instant,
});
export type BudgetAnswer = z.infer<typeof budgetAnswerSchema>;

export const budgetListAnswerSchema = pageOf(budgetAnswerSchema);

/** Body of `PUT /workspaces/:id/budgets`. Without a member, key or tag, limits the workspace. */
export const setBudgetSchema = z
  .strictObject({
    limit_usd: limitUsd.describe(
      'The most that a UTC month may cost, in USD. 0 stops all requests that cost something.',
    ),
    member_id: omittable(givenId).describe('The budget limits the keys that this member created in the workspace.'),
    key_id: omittable(givenId).describe('The budget limits this key.'),
    tag: omittable(keyTag).describe('The budget limits the keys that have this tag, together.'),
  })
  .superRefine(({ member_id, key_id, tag }, context) => {
    const given = Object.entries({ member_id, key_id, tag }).flatMap(([name, value]) =>
      value === undefined ? [] : name,
    );
    const [first, second] = given;
    if (second === undefined) return;
    const message = `must not be given beside \`${first}\`, because a budget limits one of them`;
    context.addIssue({ code: 'custom', path: [second], message });
  });
export type SetBudget = z.infer<typeof setBudgetSchema>;

export const budgetSettingsAnswerSchema = z.strictObject({
  alert_percents: z.array(z.int()).describe('The percents of a budget at which alerts are sent, ascending.'),
  member_budget_usd: z
    .number()
    .nullable()
    .describe('The monthly budget of each member without one of their own, except the owner. Null: none.'),
});
export type BudgetSettingsAnswer = z.infer<typeof budgetSettingsAnswerSchema>;

export const setBudgetSettingsSchema = z.strictObject({
  alert_percents: z
    .array(z.int().min(1).max(100))
    .max(10)
    .describe(
      'The percents of a budget at which alerts are sent. Empty: only the first refusal of a month is alerted.',
    ),
  member_budget_usd: limitUsd
    .nullable()
    .describe('The monthly budget of each member without one of their own, except the owner. Null: none.'),
});
export type SetBudgetSettings = z.infer<typeof setBudgetSettingsSchema>;

/** A pending invitation. Only the answer that created it has `token`. */
export const workspaceInvitationAnswerSchema = z.strictObject({
  id: z.uuid(),
  email: z.string(),
  role: workspaceRole,
  created_at: instant,
  expires_at: instant,
  token: z.string().optional(),
});
export type WorkspaceInvitationAnswer = z.infer<typeof workspaceInvitationAnswerSchema>;

/** Answer of `POST /workspaces/:id/invitations`, the only one that has the token. */
export const newWorkspaceInvitationAnswerSchema = workspaceInvitationAnswerSchema.required({ token: true });

export const workspaceInvitationListAnswerSchema = pageOf(workspaceInvitationAnswerSchema);

/** Body of `POST /workspaces/:id/invitations`. The role `owner` transfers the workspace. */
export const createInvitationSchema = z.strictObject({
  email: z.string().trim().toLowerCase().max(254).pipe(z.email()),
  role: workspaceRole,
});
export type CreateInvitation = z.infer<typeof createInvitationSchema>;

const id = { note: 'The id of a workspace of which you are a member.', id: 'workspace' } as const;

const memberId = { note: "The member's account id.", id: 'member' } as const;

export const workspaceContracts = contractsWith({ credentials: ['session'] })({
  'GET /v1/workspaces': {
    operationId: 'listWorkspaces',
    summary: 'List workspaces',
    query: listQuerySchema,
    answer: workspaceListAnswerSchema,
    returns: 'A page of the workspaces that the account owns or joined, oldest first.',
  },
  'POST /v1/workspaces': {
    operationId: 'createWorkspace',
    summary: 'Create a workspace',
    body: workspaceNameSchema,
    status: 201,
    answer: workspaceAnswerSchema,
    returns: 'The workspace.',
    examples: { body: { name: 'Research' } },
    errors: ['conflict'],
    maximum: 'workspaces',
  },
  'PATCH /v1/workspaces/{id}': {
    operationId: 'renameWorkspace',
    summary: 'Rename a workspace',
    params: { id },
    body: workspaceNameSchema,
    answer: workspaceAnswerSchema,
    returns: 'The updated workspace.',
    examples: { body: { name: 'Research and teaching' } },
  },
  'DELETE /v1/workspaces/{id}': {
    operationId: 'deleteWorkspace',
    summary: 'Delete a workspace',
    description: 'Revokes its keys and keeps its usage. A default workspace cannot be deleted.',
    params: { id },
    status: 204,
    returns: 'The workspace is deleted.',
    errors: ['conflict'],
  },
  'GET /v1/workspaces/{id}/members': {
    operationId: 'listMembers',
    summary: 'List members',
    params: { id },
    query: listQuerySchema,
    answer: workspaceMemberListAnswerSchema,
    returns: 'A page of members: the owner, then the others as they joined.',
  },
  'PATCH /v1/workspaces/{id}/members/{memberId}': {
    operationId: 'changeMemberRole',
    summary: "Change a member's role",
    params: { id, memberId },
    body: memberRoleSchema,
    answer: workspaceMemberAnswerSchema,
    returns: 'The updated member.',
    examples: { body: { role: 'viewer' } },
    errors: ['conflict'],
  },
  'DELETE /v1/workspaces/{id}/members/{memberId}': {
    operationId: 'removeMember',
    summary: 'Remove a member, or leave a workspace',
    params: { id, memberId },
    status: 204,
    returns: 'The member is removed and their keys are revoked.',
    errors: ['conflict'],
  },
  'GET /v1/workspaces/{id}/budgets': {
    operationId: 'listBudgets',
    summary: 'List monthly budgets',
    params: { id },
    query: listQuerySchema,
    answer: budgetListAnswerSchema,
    returns: 'A page of budgets, oldest first, with what this month has cost.',
  },
  'PUT /v1/workspaces/{id}/budgets': {
    operationId: 'setBudget',
    summary: 'Set a monthly budget',
    description:
      'Limits what a UTC month may cost: the workspace, the keys of a member, the keys with a tag, or one key. It counts the whole present month. Requests that run already may still end above a lower limit.',
    credentials: ['session'],
    params: { id },
    body: setBudgetSchema,
    answer: budgetAnswerSchema,
    returns: 'The budget.',
    examples: { body: { limit_usd: 50 } },
    errors: ['conflict'],
    maximum: 'budgets',
  },
  'DELETE /v1/workspaces/{id}/budgets/{budgetId}': {
    operationId: 'removeBudget',
    summary: 'Remove a monthly budget',
    params: { id, budgetId: { note: 'The id of a budget.', id: 'budget' } },
    status: 204,
    returns: 'The budget is removed.',
    errors: ['conflict'],
  },
  'GET /v1/workspaces/{id}/budget-settings': {
    operationId: 'getBudgetSettings',
    summary: 'Get the settings of budgets',
    params: { id },
    answer: budgetSettingsAnswerSchema,
    returns: 'When budgets alert, and the budget of members.',
    examples: { answer: { alert_percents: [50, 80, 100], member_budget_usd: null } },
  },
  'PUT /v1/workspaces/{id}/budget-settings': {
    operationId: 'setBudgetSettings',
    summary: 'Set the settings of budgets',
    description:
      'Sets the percents at which every budget of the workspace alerts, from the next charge on, and a budget for each member who has none of their own. Members who join later get it, too. The owner, who pays, does not.',
    params: { id },
    body: setBudgetSettingsSchema,
    answer: budgetSettingsAnswerSchema,
    returns: 'The settings.',
    examples: { body: { alert_percents: [80, 100], member_budget_usd: 20 } },
  },
  'GET /v1/workspaces/{id}/invitations': {
    operationId: 'listInvitations',
    summary: 'List pending invitations',
    params: { id },
    query: listQuerySchema,
    answer: workspaceInvitationListAnswerSchema,
    returns: 'A page of invitations, oldest first.',
  },
  'POST /v1/workspaces/{id}/invitations': {
    operationId: 'createInvitation',
    summary: 'Invite an email address',
    params: { id },
    body: createInvitationSchema,
    status: 201,
    answer: newWorkspaceInvitationAnswerSchema,
    returns: 'The invitation. Only this answer has its token.',
    examples: { body: { email: 'ben@example.com', role: 'member' } },
    errors: ['conflict'],
    limit: 'outgoing',
    limits: ['invitation'],
    maximum: 'invitations',
  },
  'DELETE /v1/workspaces/{id}/invitations/{invitationId}': {
    operationId: 'withdrawInvitation',
    summary: 'Withdraw an invitation',
    params: { id, invitationId: { note: 'The id of a pending invitation.', id: 'invitation' } },
    status: 204,
    returns: 'The invitation is withdrawn.',
  },
});
