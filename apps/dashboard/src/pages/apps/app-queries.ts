import type { CreateApp, UpdateApp } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

/** What this account has allowed apps: active first, then past. */
export const grantsQuery = queryOptions({
  queryKey: ['grants'],
  queryFn: async ({ signal }) => (await call('GET /v1/connect/grants', { signal })).data,
});

export const disconnectGrant = (id: string) => call('DELETE /v1/connect/grants/{id}', { params: { id } });

/** The enabled apps that this account has registered. */
export const appsQuery = queryOptions({
  queryKey: ['apps'],
  queryFn: async ({ signal }) => (await call('GET /v1/connect/apps', { signal })).data,
});

/** Registers an app; a confidential one's `client_secret` is told in this answer alone. */
export const createApp = (body: CreateApp) => call('POST /v1/connect/apps', { body });

export const updateApp = (id: string, body: UpdateApp) => call('PATCH /v1/connect/apps/{id}', { params: { id }, body });

/** Gives an app another secret, told in this answer alone. */
export const rotateSecret = (id: string) => call('POST /v1/connect/apps/{id}/rotate-secret', { params: { id } });

export const disableApp = (id: string) => call('DELETE /v1/connect/apps/{id}', { params: { id } });
