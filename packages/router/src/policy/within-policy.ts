import { autoModelId, matchesAny, type Preferences, parseModelReference } from '@sotto/wire';
import type { Catalog } from '../catalog/catalog.ts';
import { namesOf, type RoutingRequest } from '../plan/plan-request.ts';

/** What a workspace's policy allows, and the request that it is about. */
export interface PolicyQuestion {
  readonly request: RoutingRequest;
  readonly catalog: Pick<Catalog, 'models'>;
  /** The models that the policy allows, as patterns. Undefined: all. */
  readonly workspaceModels: readonly string[] | undefined;
}

/** Returns preferences under which `/auto` chooses only among the models that the workspace's policy allows. */
export function withinPolicy(
  preferences: Preferences,
  { request, catalog, workspaceModels }: PolicyQuestion,
): Preferences {
  if (workspaceModels === undefined) return preferences;
  if (!namesOf(request).some((name) => parseModelReference(name).id === autoModelId)) return preferences;
  const { mode, ids: listed } = preferences.auto.models;
  const named = new Set(listed);
  const ids = [...catalog.models.keys()].filter(
    (id) => (mode === 'all' || named.has(id) === (mode === 'only')) && matchesAny(workspaceModels, id),
  );
  return { ...preferences, auto: { ...preferences.auto, models: { mode: 'only', ids } } };
}
