import { readJsonBody } from '@sotto/http';
import {
  createInvitationSchema,
  type InvitationOfferAnswer,
  invitationTokenSchema,
  parseRequest,
  ServiceError,
  type WorkspaceAnswer,
  type WorkspaceInvitationAnswer,
} from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireSession, type SignedIn } from '../credentials/session-credentials.ts';
import type { ControlEvents } from '../events.ts';
import type { AttemptLimit } from '../limits/attempt-limit.ts';
import type { Mailer } from '../mail/mail.ts';
import { projectKeys } from '../projection/project-keys.ts';
import { acceptInvitation, declineInvitation, type Invited, listWaiting, readOffer } from './answer-invitation.ts';
import { invitationMail } from './invitation-mail.ts';
import { inviteAddress, listInvitations, unknownInvitation, withdrawInvitation } from './invitation-store.ts';
import { isUuid, readWorkspaceId } from './path-ids.ts';
import { requireWorkspace } from './workspace-access.ts';
import type { WorkspaceRoutesDependencies } from './workspace-routes.ts';

export interface InvitationRoutesDependencies extends WorkspaceRoutesDependencies {
  /** Undefined where no mail can be sent: the token is then handed over by whoever invites. */
  readonly mailer: Mailer | undefined;
  /** The public control origin, whose pages links lead to. */
  readonly origin: string;
  readonly events: Pick<ControlEvents, 'taskFailed'>;
  /** For invitations: each may send a mail to somebody who did not ask for it. */
  readonly rateLimit: object;
  /** Counts a mail to an address; throws `rate_limited` where it is one too many. */
  readonly admitMail: AttemptLimit;
  readonly now: () => number;
}

interface OfWorkspace {
  Params: { id: string };
}

/** Invitations to a workspace, and what whoever was invited does with them. Tokens travel in bodies, never in URLs. */
export function registerInvitations(app: FastifyInstance, deps: InvitationRoutesDependencies): void {
  const { sessions, projector, now } = deps;
  const { pool } = sessions;
  const invited = async (request: FastifyRequest): Promise<Invited> => {
    const { accountId, email } = await requireSession(sessions, request);
    return { accountId, email, by: parseRequest(invitationTokenSchema, readJsonBody(request.body)) };
  };
  /** Whoever reads what is mailed to their address, which is what an invitation goes by. */
  const addressee = async (request: FastifyRequest): Promise<SignedIn> => {
    const signedIn = await requireSession(sessions, request);
    if (!signedIn.emailVerified) {
      throw new ServiceError('email_not_verified', {
        message: 'Invitations are shown to whoever has verified their address. With its token one opens without that.',
      });
    }
    return signedIn;
  };
  const invitedById = async (request: FastifyRequest<OfWorkspace>): Promise<Invited> => {
    const { accountId, email } = await addressee(request);
    if (!isUuid(request.params.id)) throw unknownInvitation();
    return { accountId, email, by: { id: request.params.id } };
  };

  app.get<OfWorkspace>('/v1/workspaces/:id/invitations', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const workspaceId = readWorkspaceId(request.params.id);
    reply.header('cache-control', 'no-store');
    return { data: await listInvitations(pool, { accountId, workspaceId }, now()) };
  });

  app.post<OfWorkspace>(
    '/v1/workspaces/:id/invitations',
    { config: deps.rateLimit },
    async (request, reply): Promise<WorkspaceInvitationAnswer> => {
      const { accountId, email } = await requireSession(sessions, request);
      const workspaceId = readWorkspaceId(request.params.id);
      const asked = parseRequest(createInvitationSchema, readJsonBody(request.body));
      await requireWorkspace(pool, { accountId, workspaceId, action: 'manageMembers' });
      await deps.admitMail(request, asked.email);
      const { invitation, workspace } = await inviteAddress(pool, { accountId, workspaceId }, asked, now());
      // Not waited for: how long a mail takes is nobody's business, and the token is in the answer.
      void deps.mailer
        ?.send(invitationMail({ ...invitation, workspace, invitedBy: email, origin: deps.origin }))
        .catch((error: unknown) => deps.events.taskFailed('mail', error));
      reply.code(201).header('cache-control', 'no-store');
      return invitation;
    },
  );

  app.delete<{ Params: { id: string; invitationId: string } }>(
    '/v1/workspaces/:id/invitations/:invitationId',
    async (request, reply) => {
      const { accountId } = await requireSession(sessions, request);
      const workspaceId = readWorkspaceId(request.params.id);
      const { invitationId } = request.params;
      if (!isUuid(invitationId)) throw unknownInvitation();
      await withdrawInvitation(pool, { accountId, workspaceId }, invitationId);
      return reply.code(204).send();
    },
  );

  app.post('/v1/invitations/read', async (request, reply): Promise<InvitationOfferAnswer> => {
    reply.header('cache-control', 'no-store');
    return readOffer(pool, await invited(request), now());
  });

  const accept = async (who: Invited): Promise<WorkspaceAnswer> => {
    const { workspace, keyIds } = await acceptInvitation(pool, who, now());
    await projectKeys(projector, keyIds);
    return workspace;
  };

  app.post('/v1/invitations/accept', async (request, reply): Promise<WorkspaceAnswer> => {
    reply.header('cache-control', 'no-store');
    return accept(await invited(request));
  });

  app.post('/v1/invitations/decline', async (request, reply) => {
    await declineInvitation(pool, await invited(request), now());
    return reply.code(204).send();
  });

  app.get('/v1/invitations', async (request, reply) => {
    const { email } = await addressee(request);
    reply.header('cache-control', 'no-store');
    return { data: await listWaiting(pool, email, now()) };
  });

  app.post<OfWorkspace>('/v1/invitations/:id/accept', async (request, reply): Promise<WorkspaceAnswer> => {
    reply.header('cache-control', 'no-store');
    return accept(await invitedById(request));
  });

  app.post<OfWorkspace>('/v1/invitations/:id/decline', async (request, reply) => {
    await declineInvitation(pool, await invitedById(request), now());
    return reply.code(204).send();
  });
}
