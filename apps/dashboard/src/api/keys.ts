import type { CreateKey, UpdateKey } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Under which all lists of keys are kept. */
export const keysQueryKey = ['keys'] as const;

/** The keys of a workspace that the reader may see; without one, all that the reader's account pays for. */
export const keysQuery = (workspaceId?: string) =>
  queryOptions({
    queryKey: [...keysQueryKey, workspaceId ?? 'all'],
    queryFn: async ({ signal }) => (await call('GET /v1/keys', { query: { workspace_id: workspaceId }, signal })).data,
  });

/** Makes a key; `key` in the answer is the only time that it is told. */
export const createKey = (body: CreateKey) => call('POST /v1/keys', { body });

/** Changes a key; what is absent stays. */
export const updateKey = (id: string, body: UpdateKey) => call('PATCH /v1/keys/{id}', { params: { id }, body });

/** Revokes a key, for good. */
export const revokeKey = (id: string) => call('DELETE /v1/keys/{id}', { params: { id } });
