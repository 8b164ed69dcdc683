import type { UsageDailyQuery, UsageGroup } from '@sotto/contract/control/usage';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { bearerToken } from '@sotto/server';
import { ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import { type ApiCredentials, assertScope, presentedToken, requireKey } from '../credentials/api-credentials.ts';
import { requireSession, type SessionDependencies } from '../credentials/session-credentials.ts';
import { mayDo } from '../workspaces/permissions.ts';
import { assertMay } from '../workspaces/require-workspace.ts';
import { findWorkspace } from '../workspaces/workspace-access.ts';
import type { UsageOwner } from './usage-store.ts';

export interface UsageReaderDependencies {
  readonly sessions: SessionDependencies;
  readonly credentials: ApiCredentials;
}

/** The account and workspaces whose usage is read. */
export interface UsageScope {
  /** The account that pays. */
  readonly accountId: string;
  /** Undefined: all workspaces that the account pays for. */
  readonly workspaceId: string | undefined;
  /** The account whose role decides. Undefined if a management key reads, which shows everything. */
  readonly readerId: string | undefined;
  /** The role of the reader. That of a management key is `owner`. */
  readonly role: WorkspaceRole;
  /** An app reads, which learns no names. */
  readonly isApp: boolean;
}

/**
 * Returns the wallet whose balance a request may read. A management key and a session read their own account’s. An
 * access token with the scope `usage:read` reads the balance of the user who granted it, if that user pays for the
 * workspace. Throws `forbidden` otherwise.
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
    message: 'Another account pays for the workspace of this access token, so this token cannot read the balance.',
  });
}

/**
 * Returns the account and workspace whose usage a request may read. A session may read a workspace it is a member of,
 * whose usage belongs to the owner. An access token with the scope `usage:read` reads the one workspace of its grant.
 * Throws `forbidden` if it asks for another.
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
    if (workspaceId === undefined || workspaceId === own) {
      return { accountId, workspaceId: own, readerId: token.grantedBy, role: 'viewer', isApp: true };
    }
    throw new ServiceError('forbidden', {
      message: `This access token reads the usage of one workspace, \`${own}\`.`,
      param: 'workspace_id',
    });
  }
  const { accountId } = await ownerOf(deps, request);
  if (bearerToken(request) !== undefined)
    return { accountId, workspaceId, readerId: undefined, role: 'owner', isApp: false };
  const workspace =
    workspaceId === undefined ? undefined : await findWorkspace(deps.sessions.pool, accountId, workspaceId);
  // Of any other workspace, it reads what it paid for itself.
  const { accountId: payerId, role } = workspace ?? { accountId, role: 'owner' as const };
  return { accountId: payerId, workspaceId, readerId: accountId, role, isApp: false };
}

/**
 * Throws `forbidden` if a reader may not see sums by member or tag. People may see those that are about themselves, and admins all.
 * Apps see none of both, also those that an admin granted access: members have addresses, and tags are what people wrote.
 */
export function requireKeyReader(
  { role, isApp, readerId }: UsageScope,
  {
    groups,
    member_id: memberId,
    tag,
  }: Pick<UsageDailyQuery, 'member_id' | 'tag'> & { readonly groups: readonly UsageGroup[] },
): void {
  if (groups.includes('member_id') || groups.includes('tag') || memberId !== undefined || tag !== undefined)
    refuseApp(isApp);
  if (groups.includes('member_id') || (memberId !== undefined && memberId !== readerId))
    assertMay(role, 'readAllRequests');
}

function refuseApp(isApp: boolean): void {
  if (isApp) throw new ServiceError('forbidden', { message: 'An access token reads no usage by member or tag.' });
}

/**
 * Returns whose rows of requests a reader may see, which is less than the sums: who pays and admins see all, members those
 * of keys that they created. Throws `forbidden` to viewers, and to an app that asks for a member’s.
 */
export async function requireRowReader(
  { sessions }: UsageReaderDependencies,
  { accountId, workspaceId, readerId, isApp }: UsageScope,
  { member_id: memberId }: Pick<UsageDailyQuery, 'member_id'>,
): Promise<UsageOwner> {
  if (memberId !== undefined) refuseApp(isApp);
  if (readerId === undefined || readerId === accountId) return { accountId, onlyOf: undefined };
  const workspace = await findWorkspace(sessions.pool, readerId, workspaceId);
  const role = workspace?.role ?? 'viewer';
  assertMay(role, 'readOwnRequests');
  return { accountId, onlyOf: mayDo(role, 'readAllRequests') ? undefined : readerId };
}

const ownerOf = (
  { sessions, credentials }: UsageReaderDependencies,
  request: FastifyRequest,
): Promise<{ readonly accountId: string; readonly walletId: string }> =>
  bearerToken(request) === undefined
    ? requireSession(sessions, request)
    : requireKey(credentials, request, ['management']);
