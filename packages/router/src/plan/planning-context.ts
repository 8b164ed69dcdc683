import type { Catalog } from '../catalog/catalog.ts';
import type { RequestPreferences } from '../policy/merge-policy.ts';
import type { RouteStatus } from './order-routes.ts';

/** The inputs of every plan: models, workspace preferences, the state of the routes, and a source of randomness. */
export interface PlanningContext {
  readonly catalog: Catalog;
  readonly preferences: RequestPreferences;
  readonly status: RouteStatus;
  /** Returns a number from 0 inclusive to 1 exclusive. It selects which of the routes that share traffic goes first. */
  readonly random: () => number;
}

/** Always selects the best of the routes that share traffic. For previews, which must not vary between calls. */
export const bestOfBand = (): number => 0;
