import { autoModelId, comparePrivacy, type PrivacyClass, parseModelReference } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { accept, type Decision } from '../policy/refusal.ts';
import { keptBy } from './eligibility.ts';
import { type NamedScope, scopeOf } from './narrow-preferences.ts';
import type { Needs } from './needs.ts';
import { attemptsOf, namesOf, type Plan, planRequest, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';
import { weakestReachable } from './reachable-route.ts';
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
  // Measurements and penalties may make `/auto` choose any of its models, and fall back from any to the others. Of
  // several named models, each later one serves only what those before it refuse.
  const inOrder = !names.some((name) => parseModelReference(name).id === autoModelId);
  const asked = scopes.flatMap(({ models, demands }) => models.map((model) => ({ model, demands })));
  let weakest = weakestUnderLists(scopes, weakestOf(sentTo(plain.value)));
  for (const [at, scope] of asked.entries()) {
    if (strengthOf(weakest) <= scope.demands.floor) continue;
    const found = weakestReachable(scope, inOrder ? asked.slice(0, at) : [], strengthOf(weakest));
    if (found !== undefined) weakest = found.route.privacyClass;
  }
  return accept(weakest);
}

/**
 * The routes of a plan that a request may be sent to when its ticket is used. With several attempts, that is every
 * route of the plan: which ones are tried depends on the bodies and penalties at that time.
 */
export const sentTo = (plan: Plan): readonly Route[] => (plan.maxAttempts > 1 ? plan.routes : attemptsOf(plan));

/**
 * Under `require_parameters`, a body can exclude every route but one: by a parameter that a list or an API lacks, by a way to reason, by JSON.
 * Then every route that may serve counts: enumerating the possible bodies is not worth it.
 */
function weakestUnderLists(scopes: readonly NamedScope[], weakest: PrivacyClass): PrivacyClass {
  if (!scopes.some(({ demands }) => demands.policy.requireParameters)) return weakest;
  const tellsApart = ({ supportedParameters, missingParameters, exclusiveParameters, capabilities }: Route): boolean =>
    supportedParameters !== undefined ||
    missingParameters.size > 0 ||
    exclusiveParameters.length > 0 ||
    capabilities.reasoning !== undefined ||
    capabilities.structuredOutput;
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
