import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { limitUsd } from '../fields.ts';
import { modelPattern } from './keys.ts';

/** The policy of a workspace. It binds all keys of the workspace, also those that are older. */
export const workspacePolicySchema = z.strictObject({
  allowed_models: z
    .array(modelPattern)
    .min(1)
    .max(100)
    .nullable()
    .describe(
      'The models that requests may name: ids, or patterns such as `acme/*`. `/auto` chooses among them. Null: all models.',
    ),
  max_key_limit_usd: limitUsd
    .nullable()
    .describe('The most that one key can spend in total, in USD. Keys without a limit get this one. Null: no bound.'),
  max_key_days: z
    .int()
    .min(1)
    .max(3650)
    .nullable()
    .describe('Keys expire at the latest so many days after their creation. Null: they need not expire.'),
  openai_compatible: z
    .boolean()
    .describe('Whether keys may be sent to the confidential origin. False: they only get tickets.'),
});
export type WorkspacePolicyAnswer = z.infer<typeof workspacePolicySchema>;

const id = { note: 'The id of a workspace of which you are a member.', id: 'workspace' } as const;

/** The policy of a workspace. Members read it, and admins set it. */
export const policyContracts = contractsWith({ credentials: ['session'], params: { id } })({
  'GET /v1/workspaces/{id}/policy': {
    operationId: 'getWorkspacePolicy',
    summary: 'Get the policy',
    answer: workspacePolicySchema,
    returns: 'The policy. A new workspace has one that bounds nothing.',
  },
  'PUT /v1/workspaces/{id}/policy': {
    operationId: 'setWorkspacePolicy',
    summary: 'Set the policy',
    description:
      'Needs the role `admin`. It bounds all keys of the workspace from the answer on, also those of admins and the owner. Requests that ' +
      'run already finish. Unused tickets of the keys stop working. Keys keep their own rules, which hold again under a looser policy.',
    body: workspacePolicySchema,
    answer: workspacePolicySchema,
    returns: 'The policy.',
    examples: {
      body: { allowed_models: ['acme/*'], max_key_limit_usd: 50, max_key_days: 90, openai_compatible: false },
    },
  },
});
