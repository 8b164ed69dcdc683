import type { RoutingPreview } from '@sotto/contract/control/routing';
import type { Preferences } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The routing preferences of a workspace. */
export const preferencesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['preferences', workspaceId],
    queryFn: ({ signal }) => call('GET /v1/routing/preferences', { query: { workspace_id: workspaceId }, signal }),
  });

/** Previews the routing of a request under preferences that may be unsaved. A newer preview aborts an older one. */
export const previewQuery = (asked: RoutingPreview) =>
  queryOptions({
    queryKey: ['routing-preview', asked],
    queryFn: ({ signal }) => call('POST /v1/routing/preview', { body: asked, signal }),
  });

/** The models that requests may use under preferences that may be unsaved. */
export const eligibleModelsQuery = (preferences: Preferences) =>
  queryOptions({
    queryKey: ['eligible-models', preferences],
    queryFn: ({ signal }) => call('POST /v1/routing/eligible-models', { body: { preferences }, signal }),
  });
