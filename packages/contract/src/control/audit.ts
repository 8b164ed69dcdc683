import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { idFilter, instant, jsonOrCsv } from '../fields.ts';
import { pageFields, pageOf } from '../lists.ts';
import { csv } from '../route.ts';
import { refuseEmptyRange, timeRange } from '../time-range.ts';

/** What can be in the audit log: acts in workspaces, then acts of operators. */
const actNames = [
  'workspace_created',
  'workspace_renamed',
  'workspace_deleted',
  'workspace_transferred',
  'invitation_created',
  'invitation_withdrawn',
  'member_joined',
  'member_role_changed',
  'member_removed',
  'budget_set',
  'budget_settings_set',
  'budget_removed',
  'webhook_set',
  'webhook_removed',
  'preferences_changed',
  'policy_changed',
  'key_created',
  'key_changed',
  'key_revoked',
  'key_disabled',
  'key_enabled',
  'key_rotated',
  'app_secret_rotated',
  'app_disabled',
  'address_changed',
  'credit_permission_created',
  'credit_permission_revoked',
  'account_created',
  'password_link_created',
  'account_credited',
  'account_grant_set',
  'account_disabled',
  'account_enabled',
  'account_deleted',
  'operator_granted',
  'operator_revoked',
  'sign_up_invited',
  'sign_up_invitation_withdrawn',
  'settlement_dismissed',
  'order_refunded',
] as const;

const actNameSchema = z.enum(actNames);
export type ActName = z.infer<typeof actNameSchema>;

const actors = ['account', 'operator', 'command_line', 'identity_provider', 'app'] as const;

const actAnswerSchema = z.strictObject({
  id: z.uuid(),
  at: instant,
  /** `command_line`: the operator at the server. `identity_provider`: a group or SCIM of the OpenID provider. `app`: a connected app or its developer. */
  actor: z.enum(actors),
  /** Null for the command line, the identity provider and apps. For an operator, only other operators see it. */
  actor_account_id: z.uuid().nullable(),
  act: actNameSchema,
  /** The account that the act concerns. */
  account_id: z.uuid().nullable(),
  workspace_id: z.uuid().nullable(),
  /** Ids, roles and amounts. */
  details: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .describe('Ids, roles, amounts and limits. A limit that is null was removed, or never set.'),
  actor_email: z
    .string()
    .nullable()
    .describe('The present address of the actor. The log itself holds no names, so what was deleted has none.'),
  account_email: z.string().nullable(),
  workspace_name: z.string().nullable(),
  key_name: z.string().nullable().describe('The present name of the key of `details.key_id`. Null for operators.'),
  tag: z.string().nullable().describe('The tag that the budget of `details.budget_id` limits. Null for operators.'),
  invited_email: z
    .string()
    .nullable()
    .describe('The address of the invitation of `details.invitation_id`, while it is pending.'),
});
export type ActAnswer = z.infer<typeof actAnswerSchema>;

/** A page of the audit log, newest first. */
export const actPageSchema = pageOf(actAnswerSchema);
export type ActPage = z.infer<typeof actPageSchema>;

/** Answer of `GET /account`: the caller's own account. */
export const ownAccountAnswerSchema = z.strictObject({
  id: z.uuid(),
  /** Whether the caller administers this deployment. */
  is_operator: z.boolean(),
});

const acts = z
  .string()
  .max(2000)
  .transform((text, context): readonly ActName[] => {
    const asked = text.split(',').map((name) => actNameSchema.safeParse(name).data);
    if (!asked.includes(undefined)) return asked.filter((name) => name !== undefined);
    context.addIssue({ code: 'custom', message: 'must be a comma list of acts such as `key_created,key_revoked`' });
    return z.NEVER;
  });

/** Query of the audit logs. CSV has every matching row. */
export const actQueryFields = {
  ...pageFields(100, 20),
  ...timeRange,
  format: jsonOrCsv.describe('`csv` exports every matching entry. Overrides the header `accept`.'),
  act: acts.optional().meta({ description: 'Only these acts: a comma list.', example: 'key_created,key_revoked' }),
  actor: z
    .enum(actors)
    .optional()
    .describe('Only acts of members, of operators, by the command line, of the identity provider, or of apps.'),
  actor_account_id: idFilter.describe(
    'Only acts of this account. Acts of operators match only for operators, because others do not see which operator acted.',
  ),
};
export const actQuerySchema = z.strictObject(actQueryFields).superRefine(refuseEmptyRange);
export type ActQuery = z.infer<typeof actQuerySchema>;

/** The query, and the answer as a page or as CSV, of an audit log. */
export const auditLog = {
  query: actQuerySchema,
  answer: actPageSchema,
  returns: 'A page as JSON, newest first, or every matching entry as CSV.',
  otherContent: [csv],
} as const;

/** The caller's account, and what the audit log says of it and of workspaces. */
export const auditContracts = contractsWith({ credentials: ['session'] })({
  'GET /v1/account': {
    operationId: 'getAccount',
    summary: 'Get your account',
    answer: ownAccountAnswerSchema,
    returns: 'The account of the session.',
  },
  'GET /v1/account/audit': {
    operationId: 'listAccountActs',
    summary: 'List acts that concern your account',
    ...auditLog,
  },
  'GET /v1/workspaces/{id}/audit': {
    operationId: 'listWorkspaceActs',
    summary: 'List acts in a workspace',
    description: 'Needs the role `admin`.',
    params: { id: { note: 'The id of a workspace of which you are an admin.', id: 'workspace' } },
    ...auditLog,
  },
});
