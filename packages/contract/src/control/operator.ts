import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { idFilter, instant, limitUsd, usd, yearMonth } from '../fields.ts';
import { exportFormat, pageFields, pageOf } from '../lists.ts';
import { csv } from '../route.ts';
import { refuseEmptyRange, timeRange } from '../time-range.ts';
import { actQueryFields, auditLog } from './audit.ts';
import { orderAnswerSchema } from './orders.ts';
import { signUpModeSchema } from './sign-in-ways.ts';

/** An account as operators see it: never its requests, models or keys. */
export const accountAnswerSchema = z.strictObject({
  id: z.uuid(),
  /** Null if no person signs in to it. */
  email: z.string().nullable(),
  name: z.string().nullable().describe('As its person wrote it. Null if no person signs in to it.'),
  /** `deleted`: by its owner or an operator. No user belongs to it any more. */
  state: z.enum(['active', 'disabled', 'deleted']),
  is_operator: z.boolean(),
  balance_usd: usd,
  /** Its grant of each month from the next on. */
  monthly_grant: z
    .strictObject({ amount_usd: usd, is_default: z.boolean() })
    .nullable()
    .describe('Null: this deployment gives no monthly grants.'),
  spent_this_month_usd: usd.describe('What it paid since the first of this month, UTC, also for keys of others.'),
  used_this_month_usd: usd.describe(
    'What its own keys used since the first of this month, UTC, in any workspace, whoever paid.',
  ),
  last_used_on: z.iso.date().nullable().describe('The last UTC day with a request of its own keys.'),
  created_at: instant,
});
export type AccountAnswer = z.infer<typeof accountAnswerSchema>;

export const accountPageSchema = pageOf(accountAnswerSchema);
export type AccountPage = z.infer<typeof accountPageSchema>;

/**
 * Query of `GET /operator/spend`. Days are whole UTC days: `from` is rounded down and `to` up to midnight. Without `from`, it begins with
 * the month of the last day. Without both, it is this month.
 */
export const operatorSpendQuerySchema = z
  .strictObject({
    ...pageFields(1000, 100),
    ...timeRange,
    account_id: idFilter.describe('Only what this account used or paid.'),
    workspace_id: idFilter.describe('Only this workspace.'),
    ...exportFormat,
  })
  .superRefine(refuseEmptyRange);
export type OperatorSpendQuery = z.infer<typeof operatorSpendQuerySchema>;

const spendSums = { requests: z.int(), cost: usd };

/**
 * Answer of `GET /operator/spend`: what each member used in each workspace in each month. The newest month is first, and the largest
 * cost of a month.
 */
export const operatorSpendAnswerSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      month: yearMonth.describe('UTC.'),
      workspace_id: z.uuid(),
      workspace_name: z.string(),
      payer_id: z.uuid().describe('The account that paid: the owner of the workspace then.'),
      payer_email: z.string().nullable().describe('Null: no person signs in to it, or it was deleted.'),
      member_id: z.uuid().describe('The account that created the keys.'),
      member_email: z.string().nullable().describe('Null: no person signs in to it, or it was deleted.'),
      ...spendSums,
    }),
  ),
  total: z.strictObject(spendSums).describe('Of all pages.'),
  next_cursor: z.string().nullable(),
});
export type OperatorSpendAnswer = z.infer<typeof operatorSpendAnswerSchema>;

const searched = z.string().trim().min(1).max(254).optional();

export const accountQuerySchema = z.strictObject({
  ...pageFields(100, 20),
  ...exportFormat,
  search: searched.describe('Only accounts whose address contains this text, or with this id.'),
});
export type AccountQuery = z.infer<typeof accountQuerySchema>;

export const creditAccountSchema = z.strictObject({
  amount_usd: z.number().gt(0).max(1_000_000),
  /** An invoice number, for example. Each reference credits once. */
  reference: z.string().trim().min(1).max(200),
});

export const setMonthlyGrantSchema = z.strictObject({
  amount_usd: limitUsd.nullable().describe('USD a month. Null: the amount of the deployment, `MONTHLY_GRANT_USD`.'),
});

export const deletePersonSchema = z.strictObject({
  email: z.string().trim().toLowerCase().max(254).describe('The address of the person, so that no other is deleted.'),
  with_workspaces: z
    .boolean()
    .default(false)
    .describe('Delete also the workspaces of the account that other people use. Their keys there stop.'),
});

/** Query of `GET /operator/providers`. */
export const providerQuerySchema = z.strictObject(exportFormat);

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
      ttft_ms: z
        .strictObject({ p50: z.number(), p90: z.number() })
        .nullable()
        .describe('The time to the first token of streamed answers of all its routes. Null below ten.'),
      spent_this_month_usd: usd,
    }),
  ),
});
export type ProviderListAnswer = z.infer<typeof providerListAnswerSchema>;

/** The time is that of the order. */
export const operatorOrderQuerySchema = z
  .strictObject({ ...pageFields(100, 20), ...timeRange, ...exportFormat })
  .superRefine(refuseEmptyRange);
export type OperatorOrderQuery = z.infer<typeof operatorOrderQuerySchema>;

export const operatorOrderPageSchema = pageOf(
  orderAnswerSchema.omit({ checkout_url: true }).extend({
    account_id: z.uuid(),
    account_email: z.string().nullable().describe('Null: no person signs in to it, or it was deleted.'),
  }),
);
export type OperatorOrderPage = z.infer<typeof operatorOrderPageSchema>;

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

export const dismissSettlementSchema = z.strictObject({ why: z.string().trim().min(1).max(500) });

/** Answer of `GET /operator/books`: the differences that an audit of the ledger finds now. */
export const booksAnswerSchema = z.strictObject({
  is_clean: z.boolean(),
  findings: z.array(z.strictObject({ what: z.string(), id: z.string(), expected: z.string(), found: z.string() })),
});
export type BooksAnswer = z.infer<typeof booksAnswerSchema>;

export const operatorActQuerySchema = z
  .strictObject({
    ...actQueryFields,
    account_id: idFilter.describe('Only acts that concern this account.'),
    workspace_id: idFilter.describe('Only acts in this workspace.'),
    search: searched.describe('Only acts by or about accounts whose address contains this text, or with this id.'),
  })
  .superRefine(refuseEmptyRange);
export type OperatorActQuery = z.infer<typeof operatorActQuerySchema>;

export const signUpInvitationAnswerSchema = z.strictObject({
  id: z.uuid(),
  email: z.string(),
  created_at: instant,
  expires_at: instant,
});
export type SignUpInvitationAnswer = z.infer<typeof signUpInvitationAnswerSchema>;

export const signUpPolicyAnswerSchema = z.strictObject({
  mode: signUpModeSchema,
  /** Empty: all. */
  domains: z.array(z.string()),
  invitations: z.array(signUpInvitationAnswerSchema),
});

export const inviteToSignUpSchema = z.strictObject({ email: z.string().trim().toLowerCase().max(254).pipe(z.email()) });

const account = { note: 'The id of an account.', id: 'account' } as const;

/**
 * The administration of a deployment. Only operators may call these routes: other sessions get `not_found`. Acts also
 * need a second factor that was shown within five minutes.
 */
export const operatorContracts = contractsWith({ credentials: ['operator'] })({
  'GET /v1/operator/accounts': {
    operationId: 'listAccounts',
    summary: 'List accounts',
    query: accountQuerySchema,
    answer: accountPageSchema,
    returns: 'A page of accounts, newest first, or every row as CSV.',
    otherContent: [csv],
  },
  'GET /v1/operator/accounts/{id}': {
    operationId: 'readAccount',
    summary: 'Get an account',
    params: { id: account },
    answer: accountAnswerSchema,
    returns: 'The account.',
  },
  'GET /v1/operator/spend': {
    operationId: 'listSpend',
    summary: 'Get what each person used, by month and workspace',
    description:
      'Counts requests and cost. It shows no models, keys or single requests, and no anonymous wallets. People who left a workspace, and workspaces that were deleted, stay in it.',
    query: operatorSpendQuerySchema,
    answer: operatorSpendAnswerSchema,
    returns: 'A page of the sums of each month, workspace and member, and the total, or every row as CSV.',
    otherContent: [csv],
  },
  'POST /v1/operator/accounts/{id}/credit': {
    operationId: 'creditAccount',
    summary: 'Credit an account',
    description: 'Each reference credits the account once.',
    params: { id: account },
    body: creditAccountSchema,
    answer: accountAnswerSchema,
    returns: 'The account with its new balance.',
    examples: { body: { amount_usd: 12.5, reference: 'invoice 17' } },
    errors: ['conflict'],
  },
  'PUT /v1/operator/accounts/{id}/monthly-grant': {
    operationId: 'setMonthlyGrant',
    summary: "Set an account's monthly grant",
    description:
      'A higher amount counts at once, a lower one from the next month. It has an effect only with `BILLING` `none`.',
    params: { id: account },
    body: setMonthlyGrantSchema,
    answer: accountAnswerSchema,
    returns: 'The account.',
    examples: { body: { amount_usd: 50 } },
  },
  'POST /v1/operator/accounts/{id}/disable': {
    operationId: 'disableAccount',
    summary: 'Disable an account',
    description: 'Its keys stop and its sessions end at once. Its money stays.',
    params: { id: account },
    body: 'optional',
    answer: accountAnswerSchema,
    returns: 'The account.',
    errors: ['conflict'],
  },
  'POST /v1/operator/accounts/{id}/enable': {
    operationId: 'enableAccount',
    summary: 'Enable an account',
    params: { id: account },
    body: 'optional',
    answer: accountAnswerSchema,
    returns: 'The account.',
  },
  'POST /v1/operator/accounts/{id}/delete': {
    operationId: 'deletePerson',
    summary: 'Delete a person on request',
    description:
      'Does what `POST /auth/delete-account` does for its owner: ways to sign in, address, names, keys, workspaces and apps go at once, and the rest of the balance is forfeited. The ledger and usage stay, without a name. It cannot be undone.',
    params: { id: account },
    body: deletePersonSchema,
    answer: accountAnswerSchema,
    returns: 'The account, which has no person any more.',
    examples: { body: { email: 'ann@example.com' } },
    errors: ['conflict'],
  },
  'GET /v1/operator/providers': {
    operationId: 'listProviders',
    summary: 'List providers with their health and spend',
    credentials: ['operator'],
    query: providerQuerySchema,
    answer: providerListAnswerSchema,
    returns: 'The providers of the catalog, also as CSV.',
    otherContent: [csv],
  },
  'GET /v1/operator/orders': {
    operationId: 'listAllOrders',
    summary: 'List orders of all accounts',
    credentials: ['operator'],
    query: operatorOrderQuerySchema,
    answer: operatorOrderPageSchema,
    returns: 'A page of orders, newest first, or every row as CSV.',
    otherContent: [csv],
  },
  'GET /v1/operator/rejected-settlements': {
    operationId: 'listRejectedSettlements',
    summary: 'List settlements that could not be booked',
    answer: rejectedSettlementListAnswerSchema,
    returns: 'The unresolved settlements, oldest first.',
  },
  'POST /v1/operator/rejected-settlements/{id}/dismiss': {
    operationId: 'dismissSettlement',
    summary: 'Resolve a settlement that will not be booked',
    params: { id: { note: 'The id of a rejected settlement.', id: 'settlement' } },
    body: dismissSettlementSchema,
    status: 204,
    returns: 'The audit no longer reports it.',
    examples: { body: { why: 'a test of the bench' } },
  },
  'GET /v1/operator/books': {
    operationId: 'auditBooks',
    summary: 'Audit the ledger',
    description: 'Recomputes every amount in the database. `sotto-control audit` also compares Redis.',
    answer: booksAnswerSchema,
    returns: 'The differences.',
  },
  'GET /v1/operator/audit': {
    operationId: 'listActs',
    summary: 'List acts of operators and workspaces',
    ...auditLog,
    query: operatorActQuerySchema,
  },
  'GET /v1/operator/sign-up': {
    operationId: 'getSignUpPolicy',
    summary: 'Get who may sign up',
    answer: signUpPolicyAnswerSchema,
    returns: 'The policy, which the settings `SIGN_UP` and `SIGN_UP_DOMAINS` state, and the pending invitations.',
  },
  'POST /v1/operator/invitations': {
    operationId: 'inviteToSignUp',
    summary: 'Invite an address to sign up',
    description: 'The address may be of any domain. The invitation is mailed if this deployment sends mail.',
    body: inviteToSignUpSchema,
    status: 201,
    answer: signUpInvitationAnswerSchema,
    returns: 'The invitation, valid for seven days.',
    examples: { body: { email: 'ann@example.com' } },
  },
  'DELETE /v1/operator/invitations/{id}': {
    operationId: 'withdrawSignUpInvitation',
    summary: 'Withdraw an invitation to sign up',
    params: { id: { note: 'The id of a pending invitation.', id: 'invitation' } },
    status: 204,
    returns: 'The invitation is withdrawn.',
  },
});
