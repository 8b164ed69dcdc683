import * as wire from '@sotto/wire';
import { contracts } from '../contract.ts';
import { csv, pageNotes } from '../route.ts';

/** The query, and the answer as a page or as CSV, of an audit log. */
export const auditLog = {
  query: {
    schema: wire.actQuerySchema,
    notes: {
      ...pageNotes,
      format: '`csv` exports every matching entry. Overrides the header `accept`.',
      act: { description: 'Only these acts: a comma list.', example: 'key_created,key_revoked' },
      actor_account_id:
        'Only acts of this account. Acts of operators match only for operators, because others do not see which operator acted.',
    },
  },
  answer: wire.actPageSchema,
  returns: 'A page as JSON, newest first, or every matching entry as CSV.',
  otherContent: [csv],
} as const;

/** The caller's account, and what the audit log says of it and of workspaces. */
export const auditContracts = contracts({
  'GET /v1/account': {
    operationId: 'getAccount',
    summary: 'Get your account',
    credentials: ['session'],
    answer: wire.ownAccountAnswerSchema,
    returns: 'The account of the session.',
  },
  'GET /v1/account/audit': {
    operationId: 'listAccountActs',
    summary: 'List acts that concern your account',
    credentials: ['session'],
    ...auditLog,
  },
  'GET /v1/workspaces/{id}/audit': {
    operationId: 'listWorkspaceActs',
    summary: 'List acts in a workspace',
    description: 'Needs the role `admin`.',
    credentials: ['session'],
    params: { id: { note: 'The id of a workspace of which you are an admin.', id: 'workspace' } },
    ...auditLog,
  },
});
