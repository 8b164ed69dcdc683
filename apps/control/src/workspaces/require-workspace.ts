import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { type ErrorsOf, orError } from '../database/refused.ts';
import { notFound } from '../serve/not-found.ts';
import { type WorkspaceAction, weakRole } from './permissions.ts';
import { accessWorkspace, type NoAccess, type WorkspaceAccess, type WorkspaceQuestion } from './workspace-access.ts';

export const accessErrors: ErrorsOf<NoAccess> = {
  no_workspace: () => notFound('workspace'),
  weak_role: ({ role, needed }) =>
    new ServiceError('forbidden', {
      message: `This takes the role \`${needed}\`${needed === 'owner' ? '' : ' or a stronger one'} in this workspace; yours is \`${role}\`.`,
    }),
};

/**
 * Returns the workspace if the caller may do the action in it. Throws `not_found` to callers outside it, and `forbidden` to
 * members whose role is too weak.
 */
export const requireWorkspace = async (
  client: pg.Pool | pg.PoolClient,
  question: WorkspaceQuestion,
): Promise<WorkspaceAccess> => orError(await accessWorkspace(client, question), accessErrors);

/** Throws `forbidden` if a role is too weak. */
export function assertMay(role: WorkspaceRole, action: WorkspaceAction): void {
  orError(weakRole(role, action), accessErrors);
}
