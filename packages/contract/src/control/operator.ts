import * as wire from '@sotto/wire';
import { contracts } from '../contract.ts';
import { pageNotes } from '../route.ts';
import { auditLog } from './audit.ts';

const account = { note: 'The id of an account.', id: 'account' } as const;

/**
 * The administration of a deployment. Only operators may call these routes: other sessions get `not_found`. Acts also
 * need a second factor that was shown within five minutes.
 */
export const operatorContracts = contracts({
  'GET /v1/operator/accounts': {
    operationId: 'listAccounts',
    summary: 'List accounts',
    credentials: ['operator'],
    query: {
      schema: wire.accountQuerySchema,
      notes: { ...pageNotes, search: 'Only accounts whose address contains this text, or with this id.' },
    },
    answer: wire.accountPageSchema,
    returns: 'A page of accounts, newest first.',
  },
  'GET /v1/operator/accounts/{id}': {
    operationId: 'readAccount',
    summary: 'Get an account',
    credentials: ['operator'],
    params: { id: account },
    answer: wire.accountAnswerSchema,
    returns: 'The account.',
  },
  'POST /v1/operator/accounts/{id}/credit': {
    operationId: 'creditAccount',
    summary: 'Credit an account',
    description: 'Each reference credits the account once.',
    credentials: ['operator'],
    params: { id: account },
    body: wire.creditAccountSchema,
    answer: wire.accountAnswerSchema,
    returns: 'The account with its new balance.',
    examples: { body: { amount_usd: 12.5, reference: 'invoice 17' } },
    errors: ['conflict'],
  },
  'PUT /v1/operator/accounts/{id}/monthly-grant': {
    operationId: 'setMonthlyGrant',
    summary: "Set an account's monthly grant",
    description:
      'A higher amount counts at once, a lower one from the next month. It has an effect only with `BILLING` `none`.',
    credentials: ['operator'],
    params: { id: account },
    body: wire.setMonthlyGrantSchema,
    answer: wire.accountAnswerSchema,
    returns: 'The account.',
    examples: { body: { amount_usd: 50 } },
  },
  'POST /v1/operator/accounts/{id}/disable': {
    operationId: 'disableAccount',
    summary: 'Disable an account',
    description: 'Its keys stop and its sessions end at once. Its money stays.',
    credentials: ['operator'],
    params: { id: account },
    body: 'optional',
    answer: wire.accountAnswerSchema,
    returns: 'The account.',
    errors: ['conflict'],
  },
  'POST /v1/operator/accounts/{id}/enable': {
    operationId: 'enableAccount',
    summary: 'Enable an account',
    credentials: ['operator'],
    params: { id: account },
    body: 'optional',
    answer: wire.accountAnswerSchema,
    returns: 'The account.',
  },
  'GET /v1/operator/providers': {
    operationId: 'listProviders',
    summary: 'List providers with their health and spend',
    credentials: ['operator'],
    answer: wire.providerListAnswerSchema,
    returns: 'The providers of the catalog.',
  },
  'GET /v1/operator/orders': {
    operationId: 'listAllOrders',
    summary: 'List orders of all accounts',
    credentials: ['operator'],
    query: { schema: wire.billingPageQuerySchema, notes: pageNotes },
    answer: wire.operatorOrderPageSchema,
    returns: 'A page of orders, newest first.',
  },
  'GET /v1/operator/rejected-settlements': {
    operationId: 'listRejectedSettlements',
    summary: 'List settlements that could not be booked',
    credentials: ['operator'],
    answer: wire.rejectedSettlementListAnswerSchema,
    returns: 'The unresolved settlements, oldest first.',
  },
  'POST /v1/operator/rejected-settlements/{id}/dismiss': {
    operationId: 'dismissSettlement',
    summary: 'Resolve a settlement that will not be booked',
    credentials: ['operator'],
    params: { id: { note: 'The id of a rejected settlement.', id: 'settlement' } },
    body: wire.dismissSettlementSchema,
    status: 204,
    returns: 'The audit no longer reports it.',
    examples: { body: { why: 'a test of the bench' } },
  },
  'GET /v1/operator/books': {
    operationId: 'auditBooks',
    summary: 'Audit the ledger',
    description: 'Recomputes every amount in the database. `sotto-control audit` also compares Redis.',
    credentials: ['operator'],
    answer: wire.booksAnswerSchema,
    returns: 'The differences.',
  },
  'GET /v1/operator/audit': {
    operationId: 'listActs',
    summary: 'List acts of operators and workspaces',
    credentials: ['operator'],
    ...auditLog,
    query: {
      schema: wire.operatorActQuerySchema,
      notes: { ...auditLog.query.notes, account_id: 'Only acts that concern this account.' },
    },
  },
  'GET /v1/operator/sign-up': {
    operationId: 'getSignUpPolicy',
    summary: 'Get who may sign up',
    credentials: ['operator'],
    answer: wire.signUpPolicyAnswerSchema,
    returns: 'The policy, which the settings `SIGN_UP` and `SIGN_UP_DOMAINS` state, and the pending invitations.',
  },
  'POST /v1/operator/invitations': {
    operationId: 'inviteToSignUp',
    summary: 'Invite an address to sign up',
    description: 'The address may be of any domain. The invitation is mailed if this deployment sends mail.',
    credentials: ['operator'],
    body: wire.inviteToSignUpSchema,
    status: 201,
    answer: wire.signUpInvitationAnswerSchema,
    returns: 'The invitation, valid for seven days.',
    examples: { body: { email: 'ann@example.com' } },
  },
  'DELETE /v1/operator/invitations/{id}': {
    operationId: 'withdrawSignUpInvitation',
    summary: 'Withdraw an invitation to sign up',
    credentials: ['operator'],
    params: { id: { note: 'The id of a pending invitation.', id: 'invitation' } },
    status: 204,
    returns: 'The invitation is withdrawn.',
  },
});
