import { autoModelId, comparePrivacy, type PrivacyClass, parseModelReference } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { accept, type Decision } from '../policy/refusal.ts';
import { keptBy } from './eligibility.ts';
import { type NamedScope, scopeOf } from './narrow-preferences.ts';
import type { Needs } from './needs.ts';
import { namesOf, planRequest, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';
import { sentTo, weakestByPlanning } from './reach-by-planning.ts';
import { reachableAfter, weakestReachable } from './reachable-route.ts';
import { modelFacts, strengthOf } from './route-facts.ts';

/**
 * The weakest class that any body sent under this policy could reach. A ticket promises this class. The ticket is
 * minted before the body is known, and used later. A body that needs tools, images, a schema, a long context or a long
 * answer can exclude the strongest routes. Measurements and penalties also change.
 * `needs` are those of a body without needs. Refuses as `planRequest` does if not even that has a route.
 */
export function weakestReachableClass(
  request: RoutingRequest,
  needs: Needs,
  context: PlanningContext,
): Decision<PrivacyClass> {
  const plain = planRequest(request, needs, context);
  if (!plain.ok) return plain;
  const names = namesOf(request);
  const scopes = names.map((name) => scopeOf(name, request, needs, context));
  let weakest = weakestUnderLists(scopes, weakestOf(sentTo(plain.value)));
  const isAuto = (name: string): boolean => parseModelReference(name).id === autoModelId;
  // Measurements and penalties may make `/auto` choose any of its models, and fall back from any to the others. Of
  // several named models, the first does not depend on the others. Each later one depends on those before it.
  const alone = names.some(isAuto) ? scopes : scopes.slice(0, 1);
  for (const { models, demands } of alone) {
    for (const model of models) {
      if (strengthOf(weakest) <= demands.floor) break;
      const found = weakestReachable(model, demands, strengthOf(weakest));
      if (found !== undefined) weakest = found.privacyClass;
    }
  }
  if (alone.length === scopes.length) return accept(weakest);
  const inOrder = scopes.flatMap(({ models, demands }) => models.map((model) => ({ model, demands })));
  const likely = inOrder.flatMap(({ model, demands }, at) => reachableAfter(model, demands, inOrder.slice(0, at)));
  return accept(weakestByPlanning(request, needs, context, weakest, likely));
}

/**
 * Under `require_parameters`, a body can exclude every route but one if the catalog's lists of parameters differ. Then
 * every route that may serve counts: enumerating the possible bodies is not worth it.
 */
function weakestUnderLists(scopes: readonly NamedScope[], weakest: PrivacyClass): PrivacyClass {
  if (!scopes.some(({ demands }) => demands.policy.requireParameters)) return weakest;
  const tellsApart = ({ supportedParameters, exclusiveParameters }: Route): boolean =>
    supportedParameters !== undefined || exclusiveParameters.length > 0;
  if (!scopes.some(({ models }) => models.some(({ routes }) => routes.some(tellsApart)))) return weakest;
  const able = scopes.flatMap(({ models, demands }) =>
    models.flatMap((model) => keptBy(demands, modelFacts(model)).map(({ route }) => route)),
  );
  const found = weakestOf(able);
  return comparePrivacy(found, weakest) < 0 ? found : weakest;
}

const weakestOf = (routes: readonly Route[]): PrivacyClass =>
  routes.reduce<PrivacyClass>(
    (weakest, { privacyClass }) => (comparePrivacy(privacyClass, weakest) < 0 ? privacyClass : weakest),
    'e2ee',
  );
