import type { Maxima } from '@sotto/contract';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { workspaceContracts } from '@sotto/contract/control/workspaces';
import type pg from 'pg';
import type { ControlEvents } from '../events.ts';
import type { AttemptLimit } from '../limits/attempt-limit.ts';
import { type Mail, type Mailer, mailOf, oneLine } from '../mail/mail.ts';
import { projectBudgets, projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import type { Serve } from '../serve/serve.ts';
import { listBudgets, removeBudget, setBudget } from './budget-store.ts';
import { type Inviting, inviteAddress, listInvitations, withdrawInvitation } from './invitation-store.ts';
import { changeRole, listMembers, removeMember } from './member-store.ts';
import { requireWorkspace } from './workspace-access.ts';
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

    'POST /v1/workspaces': ({ caller, body }) =>
      createWorkspace(pool, { accountId: caller.accountId, maxima }, body.name),

    'PATCH /v1/workspaces/{id}': ({ caller: { accountId }, params, body }) =>
      renameWorkspace(pool, { accountId, workspaceId: params.id }, body.name),

    'DELETE /v1/workspaces/{id}': async ({ caller: { accountId }, params }) => {
      await projectKeys(projector, await deleteWorkspace(pool, { accountId, workspaceId: params.id }));
      await projectBudgets(projector, params.id);
    },

    'GET /v1/workspaces/{id}/members': ({ caller: { accountId }, params, query }) =>
      listMembers(pool, { accountId, workspaceId: params.id }, query),

    'PATCH /v1/workspaces/{id}/members/{memberId}': async ({ caller: { accountId }, params, body }) => {
      const of = { accountId, workspaceId: params.id, memberId: params.memberId };
      const { member, keyIds } = await changeRole(pool, of, body.role);
      await projectKeys(projector, keyIds);
      return member;
    },

    'DELETE /v1/workspaces/{id}/members/{memberId}': async ({ caller: { accountId }, params }) => {
      const of = { accountId, workspaceId: params.id, memberId: params.memberId };
      await projectKeys(projector, await removeMember(pool, of));
    },

    'GET /v1/workspaces/{id}/budgets': ({ caller: { accountId }, params, query }) =>
      listBudgets(pool, { accountId, workspaceId: params.id }, { page: query, now: now() }),

    'PUT /v1/workspaces/{id}/budgets': async ({ caller: { accountId }, params, body }) => {
      const budget = await setBudget(pool, { accountId, workspaceId: params.id, maxima }, body, now());
      await projectBudgets(projector, params.id);
      return budget;
    },

    'DELETE /v1/workspaces/{id}/budgets/{budgetId}': async ({ caller: { accountId }, params }) => {
      await removeBudget(pool, { accountId, workspaceId: params.id }, params.budgetId);
      await projectBudgets(projector, params.id);
    },

    'GET /v1/workspaces/{id}/invitations': ({ caller: { accountId }, params, query }) =>
      listInvitations(pool, { accountId, workspaceId: params.id }, { page: query, now: now() }),

    'POST /v1/workspaces/{id}/invitations': async ({ caller: { accountId, email }, params, body, request }) => {
      const workspaceId = params.id;
      await requireWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' });
      await deps.admitMail(request, body.email);
      const { invitation, workspace } = await inviteAddress(
        pool,
        { accountId, workspaceId, maxima, mayInvite: deps.mayInvite },
        body,
        now(),
      );
      // Do not wait: the answer's time would reveal how long the mail took. The answer contains the token anyway.
      void deps.mailer
        ?.send(invitationMail({ ...invitation, workspace, invitedBy: email, origin: deps.origin }))
        .catch((error: unknown) => deps.events.taskFailed('mail', error));
      return invitation;
    },

    'DELETE /v1/workspaces/{id}/invitations/{invitationId}': ({ caller: { accountId }, params }) =>
      withdrawInvitation(pool, { accountId, workspaceId: params.id }, params.invitationId),
  });
}

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
