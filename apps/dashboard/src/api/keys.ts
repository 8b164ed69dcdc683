import type { CreateKey } from '@sotto/contract/control/keys';
import { queryOptions } from '@tanstack/react-query';
import { call, callAll } from './call.ts';

/** All lists of keys. */
export const allKeys = { queryKey: ['keys'] } as const;

/** The lists that show whether keys work: of keys, and of connected apps, each of which has one. */
export const keysAndGrants = [allKeys, { queryKey: ['grants'] }] as const;

/** These lists and the budgets of workspaces: all that a revoked key changes. */
export const afterRevoking = [...keysAndGrants, { queryKey: ['workspaces'] }] as const;

/** The keys of a workspace that the user may see; without a workspace, all that the user's account pays for. */
export const keysQuery = (workspaceId?: string) =>
  queryOptions({
    queryKey: [...allKeys.queryKey, workspaceId ?? 'all'],
    queryFn: ({ signal }) => callAll('GET /v1/keys', { query: { workspace_id: workspaceId }, signal }),
  });

/** Creates a key. Only this answer holds the secret, in `key`. */
export const createKey = (body: CreateKey) => call('POST /v1/keys', { body });

/** Revokes a key, for good. */
export const revokeKey = (id: string) => call('DELETE /v1/keys/{id}', { params: { id } });
