import type { AppScope } from '@sotto/contract/control/app-scopes';
import { queryOptions } from '@tanstack/react-query';
import { call, callAll } from '../../api/call.ts';

/** The apps that this account has connected: active ones first, then past ones. */
export const grantsQuery = queryOptions({
  queryKey: ['grants'],
  queryFn: async ({ signal }) => (await call('GET /v1/connect/grants', { signal })).data,
});

/** The apps that members of a workspace have connected to it. */
export const workspaceGrantsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['grants', workspaceId],
    queryFn: async ({ signal }) =>
      (await call('GET /v1/connect/grants', { query: { workspace_id: workspaceId }, signal })).data,
  });

/** The enabled apps that this account has registered. */
export const appsQuery = queryOptions({
  queryKey: ['apps'],
  queryFn: ({ signal }) => callAll('GET /v1/connect/apps', { signal }),
});

/** Scopes in short, for lists, and what they let an app do. */
export const scopeWords: Readonly<Record<AppScope, { readonly name: string; readonly text: string }>> = {
  openid: { name: 'Sign-in', text: 'Identifies people by an id that only this app gets.' },
  email: { name: 'Email', text: 'Sees their email address.' },
  inference: { name: 'Requests', text: 'Sends requests to models, up to each person’s limit.' },
  'usage:read': { name: 'Usage', text: 'Sees the usage of a workspace, and the balance if the person owns it.' },
};
