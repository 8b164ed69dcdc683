import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { byAccount, changedDetails, type Details, recordAct } from '../audit-log/record-act.ts';
import type { Refused } from '../database/refused.ts';
import { changeKeys } from '../projection/project-keys.ts';
import { policyAnswer, type WorkspacePolicy } from './policy.ts';
import { inWorkspace, type NoAccess } from './workspace-access.ts';
import type { InWorkspace } from './workspace-store.ts';

/**
 * Replaces the policy of a workspace, and raises the versions of its keys in the same transaction. Their unused tickets are void then.
 * Returns the keys' ids, for the projector.
 *
 * A booking may compute what is left of a key at the same time. It holds the key's row while it reads the policy, and this waits for
 * that row. So the later of the two has the higher version, and the state keeps it. A key that is being created has locked the
 * workspace's row, at least for its foreign key. So it is changed here, too, or is created under the new policy.
 */
export async function setPolicy(
  pool: pg.Pool,
  caller: InWorkspace,
  policy: WorkspacePolicy,
): Promise<readonly string[] | Refused<NoAccess>> {
  return inWorkspace(pool, { ...caller, action: 'writePolicy' }, async (client, workspace) => {
    if (isDeepStrictEqual(policy, workspace.policy)) return [];
    const { allowedModels, maxKeyLimitNusd, maxKeyDays, openaiCompatible } = policy;
    await client.query(
      `update workspaces set policy_models = $2, policy_key_limit_nusd = $3, policy_key_days = $4, policy_compatible = $5
       where id = $1`,
      [workspace.id, allowedModels, maxKeyLimitNusd, maxKeyDays, openaiCompatible],
    );
    await recordAct(client, {
      actor: byAccount(caller.accountId),
      act: 'policy_changed',
      workspaceId: workspace.id,
      details: changedDetails(toldPolicy(workspace.policy), toldPolicy(policy)),
    });
    return changeKeys(client, {
      where: 'k.workspace_id = $1 and k.revoked_at is null',
      values: [workspace.id],
      revokes: false,
      changesFunds: true,
    });
  });
}

const toldPolicy = (policy: WorkspacePolicy): Details => ({
  ...policyAnswer(policy),
  allowed_models: policy.allowedModels?.join(' ') ?? null,
});
