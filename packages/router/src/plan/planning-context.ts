import type { Catalog } from '../catalog/catalog.ts';
import type { RequestPreferences } from '../policy/merge-policy.ts';
import type { RouteStatus } from './order-routes.ts';

/** What every plan is made against: the models, the workspace, how the routes are, and who draws lots. */
export interface PlanningContext {
  readonly catalog: Catalog;
  readonly preferences: RequestPreferences;
  readonly status: RouteStatus;
  /** From 0 inclusive to 1 exclusive: says which of the routes that share traffic goes first (interface 3.4). */
  readonly random: () => number;
}

/** Draws no lots: of routes that share traffic the best one is first. For answers that must not change by looking. */
export const bestOfBand = (): number => 0;
