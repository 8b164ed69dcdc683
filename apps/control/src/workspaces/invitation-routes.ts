import { invitationContracts } from '@sotto/contract/control/invitations';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { ServiceError } from '@sotto/wire';
import type { SignedIn } from '../credentials/session-credentials.ts';
import { orError } from '../database/refused.ts';
import { maximumErrors } from '../limits/maximum-errors.ts';
import { projectBudgets, projectKeys, unlessUnavailable } from '../projection/project-keys.ts';
import { notFound } from '../serve/not-found.ts';
import type { Serve } from '../serve/serve.ts';
import {
  acceptInvitation,
  declineInvitation,
  type Invited,
  listWaiting,
  previewInvitation,
  readOffer,
} from './answer-invitation.ts';
import { giveDefaultBudget } from './budget-settings.ts';
import type { WorkspaceRoutesDependencies } from './workspace-routes.ts';

/** Serves the answers to invitations. Tokens are sent in bodies, because URLs end up in logs. */
export function serveInvitations(
  serve: Serve,
  { pool, projector, maxima, now }: Pick<WorkspaceRoutesDependencies, 'pool' | 'projector' | 'maxima' | 'now'>,
): void {
  const accept = async (who: Invited): Promise<WorkspaceAnswer> => {
    const accepted = await acceptInvitation(pool, who, { maxima, now: now() });
    const { workspace, keyIds, formerPayerId } = orError(accepted, acceptanceErrors);
    await projectKeys(projector, keyIds);
    await giveDefaultBudget(pool, workspace.id, now());
    await projectBudgets(projector, workspace.id);
    if (workspace.role === 'owner') {
      await projector.forgetBudgets(workspace.id, formerPayerId).catch(unlessUnavailable);
    }
    return workspace;
  };
  const decline = async (who: Invited) => orError(await declineInvitation(pool, who, now()), offerErrors);
  serve(invitationContracts)({
    'POST /v1/invitations/read': async ({ caller, body }) =>
      orError(await readOffer(pool, { ...caller, by: body }, now()), offerErrors),
    'POST /v1/invitations/preview': async ({ body }) =>
      orError(await previewInvitation(pool, body.token, now()), offerErrors),
    'POST /v1/invitations/accept': ({ caller, body }) => accept({ ...caller, by: body }),
    'POST /v1/invitations/decline': ({ caller, body }) => decline({ ...caller, by: body }),
    'GET /v1/invitations': async ({ caller, query }) =>
      listWaiting(pool, addressee(caller).email, { page: query, now: now() }),
    'POST /v1/invitations/{id}/accept': ({ caller, params }) => accept({ ...addressee(caller), by: { id: params.id } }),
    'POST /v1/invitations/{id}/decline': ({ caller, params }) =>
      decline({ ...addressee(caller), by: { id: params.id } }),
  });
}

const offerErrors = {
  no_invitation: () => notFound('invitation'),
  other_address: () =>
    new ServiceError('forbidden', { message: 'This invitation is for another address. Sign in with that one.' }),
};

const acceptanceErrors = {
  ...offerErrors,
  ...maximumErrors,
  no_account: () => new ServiceError('unauthenticated'),
  own: () => new ServiceError('conflict', { message: 'This workspace is yours already.' }),
};

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
