import type { Maxima } from '@sotto/contract';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { workspaceContracts } from '@sotto/contract/control/workspaces';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { orError } from '../database/refused.ts';
import type { ControlEvents } from '../events.ts';
import type { AttemptLimit } from '../limits/attempt-limit.ts';
import { maximumErrors } from '../limits/maximum-errors.ts';
import { type Mail, type Mailer, mailOf, oneLine } from '../mail/mail.ts';
import { projectBudgets, projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { notFound } from '../serve/not-found.ts';
import { readUsd } from '../serve/read-usd.ts';
import type { Serve } from '../serve/serve.ts';
import { readBudgetSettings, setBudgetSettings } from './budget-settings.ts';
import { listBudgets, removeBudget, setBudget } from './budget-store.ts';
import { type Inviting, inviteAddress, listInvitations, withdrawInvitation } from './invitation-store.ts';
import { changeRole, listMembers, removeMember } from './member-store.ts';
import { accessErrors, requireWorkspace } from './require-workspace.ts';
import { createWorkspace, deleteWorkspace, listWorkspaces, renameWorkspace } from './workspace-store.ts';

export interface WorkspaceRoutesDependencies extends Inviting {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  readonly maxima: Maxima;
  /** Undefined if mail cannot be sent. The inviter then passes the token on. */
  readonly mailer: Mailer | undefined;
  /** The public control origin. Links lead to its pages. */
  readonly origin: string;
  readonly events: Pick<ControlEvents, 'taskFailed'>;
  /** Counts a mail to an address. Throws `rate_limited` if it is one too many. */
  readonly admitMail: AttemptLimit;
  readonly now: () => number;
}

/** Serves workspaces, their members and invitations. Every account has a default workspace. */
export function serveWorkspaces(serve: Serve, deps: WorkspaceRoutesDependencies): void {
  const { pool, projector, maxima, now } = deps;
  serve(workspaceContracts)({
    'GET /v1/workspaces': ({ caller, query }) => listWorkspaces(pool, caller.accountId, query),

    'POST /v1/workspaces': async ({ caller, body }) =>
      orError(await createWorkspace(pool, { accountId: caller.accountId, maxima }, body.name), creationErrors),

    'PATCH /v1/workspaces/{id}': async ({ caller: { accountId }, params, body }) =>
      orError(await renameWorkspace(pool, { accountId, workspaceId: params.id }, body.name), accessErrors),

    'DELETE /v1/workspaces/{id}': async ({ caller: { accountId }, params }) => {
      const deleted = await deleteWorkspace(pool, { accountId, workspaceId: params.id });
      await projectKeys(projector, orError(deleted, deletionErrors));
      await projectBudgets(projector, params.id);
    },

    'GET /v1/workspaces/{id}/members': async ({ caller: { accountId }, params, query }) =>
      orError(await listMembers(pool, { accountId, workspaceId: params.id }, query), accessErrors),

    'PATCH /v1/workspaces/{id}/members/{memberId}': async ({ caller: { accountId }, params, body }) => {
      const of = { accountId, workspaceId: params.id, memberId: params.memberId };
      const { member, keyIds } = orError(await changeRole(pool, of, body.role), memberErrors);
      await projectKeys(projector, keyIds);
      return member;
    },

    'DELETE /v1/workspaces/{id}/members/{memberId}': async ({ caller: { accountId }, params }) => {
      const of = { accountId, workspaceId: params.id, memberId: params.memberId };
      await projectKeys(projector, orError(await removeMember(pool, of), memberErrors));
    },

    'GET /v1/workspaces/{id}/budgets': async ({ caller: { accountId }, params, query }) =>
      orError(
        await listBudgets(pool, { accountId, workspaceId: params.id }, { page: query, now: now() }),
        accessErrors,
      ),

    'PUT /v1/workspaces/{id}/budgets': async ({ caller: { accountId }, params, body }) => {
      const { limit_usd: usd, member_id: memberId, key_id: keyId, tag } = body;
      const asked = { limitNusd: readUsd('limit_usd', usd), memberId, keyId, tag };
      const set = await setBudget(pool, { accountId, workspaceId: params.id, maxima }, asked, now());
      const budget = orError(set, budgetErrors);
      await projectBudgets(projector, params.id);
      return budget;
    },

    'DELETE /v1/workspaces/{id}/budgets/{budgetId}': async ({ caller: { accountId }, params }) => {
      const removed = await removeBudget(pool, { accountId, workspaceId: params.id }, params.budgetId, now());
      orError(removed, budgetErrors);
      await projectBudgets(projector, params.id);
    },

    'GET /v1/workspaces/{id}/budget-settings': async ({ caller: { accountId }, params }) =>
      orError(await readBudgetSettings(pool, { accountId, workspaceId: params.id }), accessErrors),

    'PUT /v1/workspaces/{id}/budget-settings': async ({ caller: { accountId }, params, body }) => {
      const { alert_percents: alertPercents, member_budget_usd: usd } = body;
      const memberBudgetNusd = usd === null ? undefined : readUsd('member_budget_usd', usd);
      const asked = { alertPercents, memberBudgetNusd };
      const set = await setBudgetSettings(pool, { accountId, workspaceId: params.id }, asked, now());
      const settings = orError(set, accessErrors);
      await projectBudgets(projector, params.id);
      return settings;
    },

    'GET /v1/workspaces/{id}/invitations': async ({ caller: { accountId }, params, query }) =>
      orError(
        await listInvitations(pool, { accountId, workspaceId: params.id }, { page: query, now: now() }),
        accessErrors,
      ),

    'POST /v1/workspaces/{id}/invitations': async ({ caller: { accountId, email }, params, body, request }) => {
      const workspaceId = params.id;
      await requireWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' });
      await deps.admitMail(request, body.email);
      const inviting = { accountId, workspaceId, maxima, mayInvite: deps.mayInvite };
      const invited = await inviteAddress(pool, inviting, body, now());
      const { invitation, workspace } = orError(invited, invitationErrors(body.email));
      // Do not wait: the answer's time would reveal how long the mail took. The answer contains the token anyway.
      void deps.mailer
        ?.send(invitationMail({ ...invitation, workspace, invitedBy: email, origin: deps.origin }))
        .catch((error: unknown) => deps.events.taskFailed('mail', error));
      return invitation;
    },

    'DELETE /v1/workspaces/{id}/invitations/{invitationId}': async ({ caller: { accountId }, params }) =>
      orError(
        await withdrawInvitation(pool, { accountId, workspaceId: params.id }, params.invitationId),
        withdrawalErrors,
      ),
  });
}

const conflict = (message: string, param?: string): ServiceError => new ServiceError('conflict', { message, param });

const creationErrors = { ...accessErrors, ...maximumErrors };

const deletionErrors = {
  ...accessErrors,
  default: () => conflict('The default workspace of an account cannot be deleted.'),
};

const memberErrors = {
  ...accessErrors,
  owner: () => conflict('A workspace has one owner, who stays until another member accepts an invitation as `owner`.'),
  no_member: () => notFound('member'),
};

const budgetErrors = {
  ...creationErrors,
  no_member: () => notFound('member'),
  no_key: () => notFound('key'),
  no_budget: () => notFound('budget'),
  default_budget: () =>
    conflict(
      'This is the budget of members without one of their own. Give the member a budget, or change the setting.',
    ),
};

const invitationErrors = (email: string) => ({
  ...creationErrors,
  default: () => conflict('A default workspace stays with its account.'),
  present: () => conflict('This address is in the workspace already.', 'email'),
  no_member: () => conflict('Only a member can become the owner: invite them first.', 'role'),
  domain: () =>
    new ServiceError('forbidden', {
      message: `This deployment does not admit the domain of ${email}. Ask its operator to invite the address first.`,
      param: 'email',
    }),
});

const withdrawalErrors = { ...accessErrors, no_invitation: () => notFound('invitation') };

/**
 * Builds the mail with an invitation's token, as text and in a link. In the link it stands after `#`, which servers
 * never see. Names that people chose are cut to one line.
 */
function invitationMail(invitation: {
  readonly email: string;
  readonly role: WorkspaceRole;
  readonly token: string;
  readonly expires_at: string;
  readonly workspace: string;
  readonly invitedBy: string;
  /** The public control origin. */
  readonly origin: string;
}): Mail {
  const workspace = oneLine(invitation.workspace);
  return mailOf(invitation.email, `You are invited to the workspace "${workspace}"`, [
    `${invitation.invitedBy} invites you to the workspace "${workspace}" as ${invitation.role}.`,
    ...(invitation.role === 'owner' ? ['If you accept, your balance pays for what it uses from then on.'] : []),
    `Sign in or sign up with this address, and accept until ${invitation.expires_at.slice(0, 16).replace('T', ' ')} UTC:`,
    `${invitation.origin}/invitations#token=${invitation.token}`,
    'By a program, with this token:',
    invitation.token,
    'If you did not expect this, there is nothing to do.',
  ]);
}
