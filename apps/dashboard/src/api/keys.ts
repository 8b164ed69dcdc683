import type { CreateKey, KeyAnswer, UpdateKey } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Under which all lists of keys are kept. */
export const keysQueryKey = ['keys'] as const;

/** The keys of a workspace that the reader may see; without one, all that the reader's account pays for. */
export const keysQuery = (workspaceId?: string) =>
  queryOptions({
    queryKey: [...keysQueryKey, workspaceId ?? 'all'],
    queryFn: async ({ signal }) =>
      (await call<{ data: readonly KeyAnswer[] }>('/keys', { query: { workspace_id: workspaceId }, signal })).data,
  });

/** Makes a key; `key` in the answer is the only time that it is told. */
export const createKey = (asked: CreateKey): Promise<KeyAnswer & { readonly key: string }> =>
  call('/keys', { method: 'POST', body: asked });

/** Changes a key; what is absent stays. */
export const updateKey = (id: string, change: UpdateKey): Promise<KeyAnswer> =>
  call(`/keys/${id}`, { method: 'PATCH', body: change });

/** Revokes a key, for good. */
export const revokeKey = (id: string): Promise<void> => call(`/keys/${id}`, { method: 'DELETE' });
