import { limitOf } from '@sotto/contract';
import { auditContracts } from '@sotto/contract/control/audit';
import { hashSecret } from '@sotto/state';
import type { FastifyInstance } from 'fastify';
import type pg from 'pg';
import { answerActs } from '../audit-log/read-acts.ts';
import type { Domain } from '../domain.ts';
import { type AttemptLimit, attemptLimit } from '../limits/attempt-limit.ts';
import { projectBudgets } from '../projection/project-keys.ts';
import type { Serve } from '../serve/serve.ts';
import { defaultBudgetIsDue, giveDefaultBudgets } from './budget-settings.ts';
import { serveInvitations } from './invitation-routes.ts';
import { type PolicyRoutesDependencies, servePolicies } from './policy-routes.ts';
import { requireWorkspace } from './require-workspace.ts';
import { serveWorkspaces, type WorkspaceRoutesDependencies } from './workspace-routes.ts';

export interface WorkspacesDependencies
  extends Omit<WorkspaceRoutesDependencies, 'admitMail'>,
    PolicyRoutesDependencies {
  /** `RATE_LIMIT_CONTROL`. */
  readonly controlLimit: number;
}

export const buildWorkspaces = (deps: WorkspacesDependencies): Domain => ({
  register({ app, serve }) {
    serveWorkspaces(serve, { ...deps, admitMail: invitationLimit(app, deps.controlLimit) });
    servePolicies(serve, deps);
    serveInvitations(serve, deps);
    serveAudit(serve, deps.pool);
  },
  tasks: (failed, due) => [
    due.when(
      { question: defaultBudgetIsDue, everyMs: defaultBudgetsMs, isHintable: false },
      async () => {
        const changed = await giveDefaultBudgets(deps.pool, deps.now());
        for (const id of changed) await projectBudgets(deps.projector, id);
      },
      failed('default budgets'),
    ),
  ],
});

/** Members who joined by the claims of a sign-in have their budget after this time. */
const defaultBudgetsMs = 10_000;

/** Limits the invitations mailed to one address, by all inviters together, to a part of `RATE_LIMIT_CONTROL`. */
function invitationLimit(app: FastifyInstance, control: number): AttemptLimit {
  const byAddress = attemptLimit(app, { prefix: 'invite', ...limitOf('invitation', control) });
  return (request, email) => byAddress(request, hashSecret(email));
}

/** Serves the caller's account, and the audit logs of accounts and workspaces. */
function serveAudit(serve: Serve, pool: pg.Pool): void {
  serve(auditContracts)({
    'GET /v1/account': async ({ caller: { accountId, userId } }) => {
      const { rowCount } = await pool.query('select 1 from operators where user_id = $1', [userId]);
      return { id: accountId, is_operator: rowCount === 1 };
    },

    'GET /v1/account/audit': ({ caller: { accountId }, query, reply }) =>
      answerActs(pool, { kind: 'person', accountId }, { query, reply }),

    'GET /v1/workspaces/{id}/audit': async ({ caller: { accountId }, params, query, reply }) => {
      const { id: workspaceId } = await requireWorkspace(pool, {
        accountId,
        workspaceId: params.id,
        action: 'readAudit',
      });
      return answerActs(pool, { kind: 'admin', workspaceId }, { query, reply });
    },
  });
}
