import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Who is in a workspace, the owner first. */
export const membersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['workspaces', workspaceId, 'members'],
    queryFn: async ({ signal }) =>
      (await call('GET /v1/workspaces/{id}/members', { params: { id: workspaceId }, signal })).data,
  });
