import { autoModelId, parseModelReference } from '@sotto/wire';
import type { Model } from '../catalog/catalog.ts';
import { mergePolicy } from '../policy/merge-policy.ts';
import { type RequestPolicy, readRequestPolicy } from '../policy/request-policy.ts';
import { autoDemands, autoModels } from './choose-model.ts';
import { type Demands, demandsOf } from './demands.ts';
import type { Needs } from './needs.ts';
import type { RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';

/** Where one name of a request may lead, each model by itself. */
export interface NamedScope {
  /** The request's own policy under this name. */
  readonly own: RequestPolicy;
  readonly models: readonly Model[];
  readonly demands: Demands;
}

/** The names of a request, `model` first, without repetitions. */
export const namesOf = ({ model, models }: RoutingRequest): readonly string[] => [
  ...new Set([model, ...(models ?? [])]),
];

/** The scope of one of a request's names. The request must have been planned: a policy that contradicts itself throws. */
export function scopeOf(
  name: string,
  request: RoutingRequest,
  needs: Needs,
  context: Pick<PlanningContext, 'catalog' | 'preferences' | 'status'>,
): NamedScope {
  const { id, suffix } = parseModelReference(name);
  const own = readRequestPolicy(request.provider, suffix);
  if (!own.ok) throw new Error('a policy that was planned with contradicts itself');
  const policy = mergePolicy(context.preferences, own.value);
  if (id === autoModelId) {
    const demands = autoDemands(policy, needs, context.preferences);
    return { own: own.value, models: autoModels(context, demands), demands };
  }
  const model = context.catalog.models.get(id);
  return { own: own.value, models: model === undefined ? [] : [model], demands: demandsOf(policy, needs) };
}
