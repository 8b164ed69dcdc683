import { invitationContracts } from '@sotto/contract/control/invitations';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { ServiceError } from '@sotto/wire';
import type { SignedIn } from '../credentials/session-credentials.ts';
import { projectBudgets, projectKeys, unlessUnavailable } from '../projection/project-keys.ts';
import type { Serve } from '../serve/serve.ts';
import {
  acceptInvitation,
  declineInvitation,
  type Invited,
  listWaiting,
  previewInvitation,
  readOffer,
} from './answer-invitation.ts';
import type { WorkspaceRoutesDependencies } from './workspace-routes.ts';

/** Serves the answers to invitations. Tokens are sent in bodies, because URLs end up in logs. */
export function serveInvitations(
  serve: Serve,
  { pool, projector, maxima, now }: Pick<WorkspaceRoutesDependencies, 'pool' | 'projector' | 'maxima' | 'now'>,
): void {
  const accept = async (who: Invited): Promise<WorkspaceAnswer> => {
    const { workspace, keyIds, formerPayerId } = await acceptInvitation(pool, who, { maxima, now: now() });
    await projectKeys(projector, keyIds);
    if (workspace.role === 'owner') {
      await projectBudgets(projector, workspace.id);
      await projector.forgetBudgets(workspace.id, formerPayerId).catch(unlessUnavailable);
    }
    return workspace;
  };
  serve(invitationContracts)({
    'POST /v1/invitations/read': ({ caller, body }) => readOffer(pool, { ...caller, by: body }, now()),
    'POST /v1/invitations/preview': ({ body }) => previewInvitation(pool, body.token, now()),
    'POST /v1/invitations/accept': ({ caller, body }) => accept({ ...caller, by: body }),
    'POST /v1/invitations/decline': ({ caller, body }) => declineInvitation(pool, { ...caller, by: body }, now()),
    'GET /v1/invitations': async ({ caller, query }) =>
      listWaiting(pool, addressee(caller).email, { page: query, now: now() }),
    'POST /v1/invitations/{id}/accept': ({ caller, params }) => accept({ ...addressee(caller), by: { id: params.id } }),
    'POST /v1/invitations/{id}/decline': ({ caller, params }) =>
      declineInvitation(pool, { ...addressee(caller), by: { id: params.id } }, now()),
  });
}

/**
 * Returns the caller if their address is verified, because invitations are sent by address. Throws
 * `email_not_verified`.
 */
function addressee(caller: SignedIn): SignedIn {
  if (caller.emailVerified) return caller;
  throw new ServiceError('email_not_verified', {
    message: 'Invitations are shown to whoever has verified their address. With its token one opens without that.',
  });
}
