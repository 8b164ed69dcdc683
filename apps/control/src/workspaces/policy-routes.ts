import { policyContracts, type WorkspacePolicyAnswer } from '@sotto/contract/control/policies';
import { matchesAny, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { orError } from '../database/refused.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { readUsd } from '../serve/read-usd.ts';
import type { Serve } from '../serve/serve.ts';
import { policyAnswer, type WorkspacePolicy } from './policy.ts';
import { accessErrors, requireWorkspace } from './require-workspace.ts';
import { setPolicy } from './set-policy.ts';

export interface PolicyRoutesDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  readonly keeper: Pick<CatalogKeeper, 'catalog'>;
}

/** Serves the policies of workspaces. Every broker knows a new one before the answer, as `projectKeys` says. */
export function servePolicies(serve: Serve, { pool, projector, keeper }: PolicyRoutesDependencies): void {
  serve(policyContracts)({
    'GET /v1/workspaces/{id}/policy': async ({ caller: { accountId }, params }) => {
      const { policy } = await requireWorkspace(pool, { accountId, workspaceId: params.id, action: 'read' });
      return policyAnswer(policy);
    },

    'PUT /v1/workspaces/{id}/policy': async ({ caller: { accountId }, params, body }) => {
      const policy = readPolicy(body, keeper);
      const changed = await setPolicy(pool, { accountId, workspaceId: params.id }, policy);
      await projectKeys(projector, orError(changed, accessErrors));
      return policyAnswer(policy);
    },
  });
}

/** Throws `invalid_request` for a pattern without a model, and for an amount that the ledger cannot hold. */
function readPolicy(
  { allowed_models: sent, max_key_limit_usd: usd, max_key_days, openai_compatible }: WorkspacePolicyAnswer,
  { catalog }: PolicyRoutesDependencies['keeper'],
): WorkspacePolicy {
  const ids = catalog === undefined ? undefined : [...catalog.models.keys()];
  const idle = sent?.find((pattern) => ids?.some((id) => matchesAny([pattern], id)) === false);
  if (idle !== undefined) {
    const message = `\`allowed_models\` has \`${idle}\`, which no model of this deployment matches.`;
    throw new ServiceError('invalid_request', { message, param: 'allowed_models' });
  }
  return {
    allowedModels: sent && [...new Set(sent)],
    maxKeyLimitNusd: usd === null ? null : readUsd('max_key_limit_usd', usd),
    maxKeyDays: max_key_days,
    openaiCompatible: openai_compatible,
  };
}
