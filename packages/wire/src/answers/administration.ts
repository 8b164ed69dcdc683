import * as z from 'zod';
import { signUpModeSchema } from './sessions.ts';

const instant = z.iso.datetime();
const usd = z.number();
const cursor = z.string().nullable();

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
  'budget_removed',
  'webhook_set',
  'webhook_removed',
  'preferences_changed',
  'key_created',
  'key_changed',
  'key_revoked',
  'key_disabled',
  'key_enabled',
  'key_rotated',
  'app_secret_rotated',
  'app_disabled',
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
export const actNameSchema = z.enum(actNames);
export type ActName = z.infer<typeof actNameSchema>;

/** An act in the audit log. */
const actAnswerSchema = z.strictObject({
  id: z.uuid(),
  at: instant,
  /** `command_line`: the operator at the server. */
  actor: z.enum(['account', 'operator', 'command_line']),
  /** Null for the command line. For an operator, only other operators see it. */
  actor_account_id: z.uuid().nullable(),
  act: actNameSchema,
  /** The account that the act concerns. */
  account_id: z.uuid().nullable(),
  workspace_id: z.uuid().nullable(),
  /** Ids, roles and amounts. */
  details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});
export type ActAnswer = z.infer<typeof actAnswerSchema>;

/** A page of the audit log, newest first. */
export const actPageSchema = z.strictObject({ data: z.array(actAnswerSchema), next_cursor: cursor });
export type ActPage = z.infer<typeof actPageSchema>;

/** Answer of `GET /account`: the caller's own account. */
export const ownAccountAnswerSchema = z.strictObject({
  id: z.uuid(),
  /** Whether the caller administers this deployment. */
  is_operator: z.boolean(),
});

/** An account as operators see it: never its requests, models or keys. */
export const accountAnswerSchema = z.strictObject({
  id: z.uuid(),
  /** Null if no person signs in to it. */
  email: z.string().nullable(),
  /** `deleted`: by its owner. No user belongs to it any more. */
  state: z.enum(['active', 'disabled', 'deleted']),
  is_operator: z.boolean(),
  balance_usd: usd,
  /** Its grant of each month from the next on. Null: this deployment gives no grants. */
  monthly_grant: z.strictObject({ amount_usd: usd, is_default: z.boolean() }).nullable(),
  /** Charges since the first of this month, UTC. */
  spent_this_month_usd: usd,
  /** The last UTC day with a request. */
  last_used_on: z.iso.date().nullable(),
  created_at: instant,
});
export type AccountAnswer = z.infer<typeof accountAnswerSchema>;

export const accountPageSchema = z.strictObject({ data: z.array(accountAnswerSchema), next_cursor: cursor });
export type AccountPage = z.infer<typeof accountPageSchema>;

/** Answer of `GET /operator/providers`: health of the last 24 hours, and charges since the first of this month, UTC. */
export const providerListAnswerSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      provider: z.string(),
      routes: z.int(),
      /** Routes that are passed over now, because they have failed. */
      penalized_routes: z.int(),
      /** Requests that brokers measured in 24 hours. */
      requests: z.int(),
      success_rate: z.number().nullable(),
      spent_this_month_usd: usd,
    }),
  ),
});
export type ProviderListAnswer = z.infer<typeof providerListAnswerSchema>;

/** Answer of `GET /operator/rejected-settlements`: the unresolved ones, oldest first. */
export const rejectedSettlementListAnswerSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      id: z.uuid(),
      at: instant,
      shard: z.int(),
      reason: z.enum(['bad_mac', 'unbookable']),
      /** Null if the settlement cannot be read. */
      charge_usd: usd.nullable(),
    }),
  ),
});
export type RejectedSettlementListAnswer = z.infer<typeof rejectedSettlementListAnswerSchema>;

/** Answer of `GET /operator/books`: the differences that an audit of the ledger finds now. */
export const booksAnswerSchema = z.strictObject({
  is_clean: z.boolean(),
  findings: z.array(z.strictObject({ what: z.string(), id: z.string(), expected: z.string(), found: z.string() })),
});
export type BooksAnswer = z.infer<typeof booksAnswerSchema>;

/** An address that an operator invited to sign up. */
export const signUpInvitationAnswerSchema = z.strictObject({
  id: z.uuid(),
  email: z.string(),
  created_at: instant,
  expires_at: instant,
});
export type SignUpInvitationAnswer = z.infer<typeof signUpInvitationAnswerSchema>;

/** Answer of `GET /operator/sign-up`. */
export const signUpPolicyAnswerSchema = z.strictObject({
  mode: signUpModeSchema,
  /** Whether the mode is `open` only because the deployment had users before there was a policy. */
  is_inherited: z.boolean(),
  /** Empty: all. */
  domains: z.array(z.string()),
  invitations: z.array(signUpInvitationAnswerSchema),
});
