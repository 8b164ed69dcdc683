import type { WorkspacePolicyAnswer } from '@sotto/contract/control/policies';
import { type Nusd, nusdToUsd } from '@sotto/money';
import type { SqlRow } from '../database/columns.ts';
import type { workspaces } from '../database/schema.ts';

/** The bounds of the rules of all keys in a workspace. Null bounds nothing. */
export interface WorkspacePolicy {
  /** The models that requests may name, as patterns. */
  readonly allowedModels: readonly string[] | null;
  readonly maxKeyLimitNusd: Nusd | null;
  readonly maxKeyDays: number | null;
  /** Whether keys may be sent to the confidential origin. */
  readonly openaiCompatible: boolean;
}

type PolicyRow = SqlRow<
  typeof workspaces,
  'policy_models' | 'policy_key_limit_nusd' | 'policy_key_days' | 'policy_compatible'
>;

export const policyOf = (row: PolicyRow): WorkspacePolicy => ({
  allowedModels: row.policy_models,
  maxKeyLimitNusd: row.policy_key_limit_nusd === null ? null : BigInt(row.policy_key_limit_nusd),
  maxKeyDays: row.policy_key_days,
  openaiCompatible: row.policy_compatible,
});

export const policyAnswer = (policy: WorkspacePolicy): WorkspacePolicyAnswer => ({
  allowed_models: policy.allowedModels === null ? null : [...policy.allowedModels],
  max_key_limit_usd: policy.maxKeyLimitNusd === null ? null : nusdToUsd(policy.maxKeyLimitNusd),
  max_key_days: policy.maxKeyDays,
  openai_compatible: policy.openaiCompatible,
});
