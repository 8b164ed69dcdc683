import type { CreateKey, KeyAnswer } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

const queryKey = ['keys'] as const;

/** The keys of a workspace that the reader may see. */
export const keysQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: [...queryKey, workspaceId],
    queryFn: async ({ signal }) =>
      (await call<{ data: readonly KeyAnswer[] }>('/keys', { query: { workspace_id: workspaceId }, signal })).data,
  });

/** Makes a key; `key` in the answer is the only time that it is told. */
export const createKey = (asked: CreateKey): Promise<KeyAnswer & { readonly key: string }> =>
  call('/keys', { method: 'POST', body: asked });
