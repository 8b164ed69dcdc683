import type { AppAnswer, CreateApp, GrantAnswer, UpdateApp } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

/** What this account has allowed apps: active first, then past. */
export const grantsQuery = queryOptions({
  queryKey: ['grants'],
  queryFn: async ({ signal }) => (await call<{ data: readonly GrantAnswer[] }>('/connect/grants', { signal })).data,
});

export const disconnectGrant = (id: string): Promise<void> => call(`/connect/grants/${id}`, { method: 'DELETE' });

/** The enabled apps that this account has registered. */
export const appsQuery = queryOptions({
  queryKey: ['apps'],
  queryFn: async ({ signal }) => (await call<{ data: readonly AppAnswer[] }>('/connect/apps', { signal })).data,
});

/** Registers an app; a confidential one's `client_secret` is told in this answer alone. */
export const createApp = (asked: CreateApp): Promise<AppAnswer> =>
  call('/connect/apps', { method: 'POST', body: asked });

export const updateApp = (id: string, change: UpdateApp): Promise<AppAnswer> =>
  call(`/connect/apps/${id}`, { method: 'PATCH', body: change });

/** Gives an app another secret, told in this answer alone. */
export const rotateSecret = (id: string): Promise<AppAnswer> =>
  call(`/connect/apps/${id}/rotate-secret`, { method: 'POST' });

export const disableApp = (id: string): Promise<void> => call(`/connect/apps/${id}`, { method: 'DELETE' });
