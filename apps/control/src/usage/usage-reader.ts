import { bearerToken } from '@sotto/http';
import { ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import { type ApiCredentials, assertScope, presentedToken, requireKey } from '../credentials/api-credentials.ts';
import { requireSession, type SessionDependencies } from '../credentials/session-credentials.ts';
import { findWorkspace } from '../workspaces/workspace-access.ts';

export interface UsageReaderDependencies {
  readonly sessions: SessionDependencies;
  readonly credentials: ApiCredentials;
}

/** Whose usage is read, and how much of it. */
export interface UsageScope {
  /** The account that pays. */
  readonly accountId: string;
  /** Undefined: of all workspaces that the account pays for. */
  readonly workspaceId: string | undefined;
}

/**
 * Whose balance a request may read: a management key's account, a session's own, or, by an access token with the scope
 * `usage:read`, that of the person who allowed it, where they pay for the workspace. Throws `forbidden` where they do not.
 */
export async function requireBalanceReader(
  deps: UsageReaderDependencies,
  request: FastifyRequest,
): Promise<{ readonly walletId: string }> {
  const token = await presentedToken(deps.credentials, request);
  if (token === undefined) return ownerOf(deps, request);
  assertScope(token, 'usage:read');
  if (token.grantedBy === token.key.accountId) return token.key;
  throw new ServiceError('forbidden', {
    message: 'The workspace of this access token is paid for by somebody else: their balance is not told.',
  });
}

/**
 * Whose usage a request may read: of a workspace that a session was invited to, its owner's; by an access token with the
 * scope `usage:read`, that of the one workspace of its grant. Throws `forbidden` where a token asks for another.
 */
export async function requireUsageReader(
  deps: UsageReaderDependencies,
  request: FastifyRequest,
  workspaceId: string | undefined,
): Promise<UsageScope> {
  const token = await presentedToken(deps.credentials, request);
  if (token !== undefined) {
    assertScope(token, 'usage:read');
    const { accountId, workspaceId: own } = token.key;
    if (workspaceId === undefined || workspaceId.toLowerCase() === own) return { accountId, workspaceId: own };
    throw new ServiceError('forbidden', {
      message: `This access token reads the usage of one workspace, \`${own}\`.`,
      param: 'workspace_id',
    });
  }
  const { accountId } = await ownerOf(deps, request);
  if (workspaceId === undefined || bearerToken(request) !== undefined) return { accountId, workspaceId };
  const workspace = await findWorkspace(deps.sessions.pool, accountId, workspaceId);
  return { accountId: workspace?.accountId ?? accountId, workspaceId };
}

const ownerOf = (
  { sessions, credentials }: UsageReaderDependencies,
  request: FastifyRequest,
): Promise<{ readonly accountId: string; readonly walletId: string }> =>
  bearerToken(request) === undefined
    ? requireSession(sessions, request)
    : requireKey(credentials, request, ['management']);
