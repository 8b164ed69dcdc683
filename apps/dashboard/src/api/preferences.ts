import type { Preferences, RoutingPreview } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The routing preferences of a workspace. */
export const preferencesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['preferences', workspaceId],
    queryFn: ({ signal }) => call('GET /v1/routing/preferences', { query: { workspace_id: workspaceId }, signal }),
  });

/** Replaces them; answers with what is in force now. */
export const putPreferences = (workspaceId: string, body: Preferences) =>
  call('PUT /v1/routing/preferences', { query: { workspace_id: workspaceId }, body });

/** What a request would get under preferences that need not be saved. A newer question ends this one. */
export const previewQuery = (asked: RoutingPreview) =>
  queryOptions({
    queryKey: ['routing-preview', asked],
    queryFn: ({ signal }) => call('POST /v1/routing/preview', { body: asked, signal }),
  });

/** The models that may be asked under preferences that need not be saved. */
export const eligibleModelsQuery = (preferences: Preferences) =>
  queryOptions({
    queryKey: ['eligible-models', preferences],
    queryFn: ({ signal }) => call('POST /v1/routing/eligible-models', { body: { preferences }, signal }),
  });
