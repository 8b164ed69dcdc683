import type { EligibleModelsAnswer, Preferences, RoutingPreview, RoutingPreviewAnswer } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The routing preferences of a workspace. */
export const preferencesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['preferences', workspaceId],
    queryFn: ({ signal }) =>
      call<Preferences>('/routing/preferences', { query: { workspace_id: workspaceId }, signal }),
  });

/** Replaces them; answers with what is in force now. */
export const putPreferences = (workspaceId: string, preferences: Preferences): Promise<Preferences> =>
  call('/routing/preferences', { method: 'PUT', query: { workspace_id: workspaceId }, body: preferences });

/** What a request would get under preferences that need not be saved. A newer question ends this one. */
export const previewQuery = (asked: RoutingPreview) =>
  queryOptions({
    queryKey: ['routing-preview', asked],
    queryFn: ({ signal }) => call<RoutingPreviewAnswer>('/routing/preview', { method: 'POST', body: asked, signal }),
  });

/** The models that may be asked under preferences that need not be saved. */
export const eligibleModelsQuery = (preferences: Preferences) =>
  queryOptions({
    queryKey: ['eligible-models', preferences],
    queryFn: ({ signal }) =>
      call<EligibleModelsAnswer>('/routing/eligible-models', { method: 'POST', body: { preferences }, signal }),
  });
