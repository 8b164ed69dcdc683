import type { Catalog } from '../catalog/catalog.ts';
import type { Preferences } from '../policy/preferences.ts';
import type { RouteStatus } from './order-routes.ts';

/** What every plan is made against: the models, the workspace, and how the routes are. */
export interface PlanningContext {
  readonly catalog: Catalog;
  readonly preferences: Preferences;
  readonly status: RouteStatus;
}
