import { workspaceContracts } from '@sotto/contract/control';
import type pg from 'pg';
import type { ControlEvents } from '../events.ts';
import type { AttemptLimit } from '../limits/attempt-limit.ts';
import type { Mailer } from '../mail/mail.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import type { Serve } from '../serve/serve.ts';
import { invitationMail } from './invitation-mail.ts';
import { inviteAddress, listInvitations, withdrawInvitation } from './invitation-store.ts';
import { changeRole, listMembers, removeMember } from './member-store.ts';
import { requireWorkspace } from './workspace-access.ts';
import { createWorkspace, deleteWorkspace, listWorkspaces, renameWorkspace } from './workspace-store.ts';

export interface WorkspaceRoutesDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  /** Undefined where no mail can be sent: the inviter then hands the token over. */
  readonly mailer: Mailer | undefined;
  /** The public control origin, whose pages links lead to. */
  readonly origin: string;
  readonly events: Pick<ControlEvents, 'taskFailed'>;
  /** Counts a mail to an address; throws `rate_limited` where it is one too many. */
  readonly admitMail: AttemptLimit;
  readonly now: () => number;
}

/** Serves workspaces, their members, and invitations to them. Every account has a default workspace. */
export function serveWorkspaces(serve: Serve, deps: WorkspaceRoutesDependencies): void {
  const { pool, projector, now } = deps;
  serve(workspaceContracts)({
    'GET /v1/workspaces': async ({ caller }) => ({ data: await listWorkspaces(pool, caller.accountId) }),

    'POST /v1/workspaces': ({ caller, body }) => createWorkspace(pool, caller.accountId, body.name),

    'PATCH /v1/workspaces/{id}': ({ caller: { accountId }, params, body }) =>
      renameWorkspace(pool, { accountId, workspaceId: params.id }, body.name),

    'DELETE /v1/workspaces/{id}': async ({ caller: { accountId }, params }) => {
      await projectKeys(projector, await deleteWorkspace(pool, { accountId, workspaceId: params.id }));
    },

    'GET /v1/workspaces/{id}/members': async ({ caller: { accountId }, params }) => ({
      data: await listMembers(pool, { accountId, workspaceId: params.id }),
    }),

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

    'GET /v1/workspaces/{id}/invitations': async ({ caller: { accountId }, params }) => ({
      data: await listInvitations(pool, { accountId, workspaceId: params.id }, now()),
    }),

    'POST /v1/workspaces/{id}/invitations': async ({ caller: { accountId, email }, params, body, request }) => {
      const workspaceId = params.id;
      await requireWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' });
      await deps.admitMail(request, body.email);
      const { invitation, workspace } = await inviteAddress(pool, { accountId, workspaceId }, body, now());
      // Not waited for: an answer that waits would tell how long the mail took, and the token is in it anyway.
      void deps.mailer
        ?.send(invitationMail({ ...invitation, workspace, invitedBy: email, origin: deps.origin }))
        .catch((error: unknown) => deps.events.taskFailed('mail', error));
      return invitation;
    },

    'DELETE /v1/workspaces/{id}/invitations/{invitationId}': ({ caller: { accountId }, params }) =>
      withdrawInvitation(pool, { accountId, workspaceId: params.id }, params.invitationId),
  });
}
