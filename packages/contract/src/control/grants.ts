import { grantListAnswerSchema, grantListQuerySchema } from '@sotto/wire';
import { contracts } from '../contract.ts';

/** What a person has allowed apps. */
export const grantContracts = contracts({
  'GET /v1/connect/grants': {
    operationId: 'listGrants',
    summary: 'What apps were allowed',
    description:
      'Active first, then past; the newest first. With a workspace: all that its members have allowed there.',
    credentials: ['session'],
    query: {
      schema: grantListQuerySchema,
      notes: { workspace_id: 'Of this workspace, whoever allowed it. Without: what this account has allowed.' },
    },
    status: 200,
    answer: grantListAnswerSchema,
    returns: 'The grants.',
    errors: ['not_found'],
  },
  'DELETE /v1/connect/grants/{id}': {
    operationId: 'disconnectGrant',
    summary: 'Disconnect an app',
    description: 'For whoever allowed it, and for admins of its workspace. Its tokens and unused tickets are dead.',
    credentials: ['session'],
    params: { id: { note: 'The id of a grant.', id: 'grant' } },
    status: 204,
    returns: 'It has ended.',
  },
});
