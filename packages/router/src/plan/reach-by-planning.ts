import { autoModelId, boundaryClass, comparePrivacy, type PrivacyClass, parseModelReference } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { measurementMinimum } from '../health/measurement.ts';
import type { Needs } from './needs.ts';
import type { RouteStatus } from './order-routes.ts';
import { attemptsOf, namesOf, type Plan, planRequest, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';
import { unlimited } from './reachable-route.ts';

/**
 * The routes of a plan that a request may be sent to when its ticket is used. With several attempts, that is every
 * route of the plan: which ones are tried depends on the bodies and penalties at that time.
 */
export const sentTo = (plan: Plan): readonly Route[] => (plan.maxAttempts > 1 ? plan.routes : attemptsOf(plan));

/**
 * Finds the weakest class that any body of a request for named models could reach, by planning. The result is never
 * stronger than `weakest`. The shortcuts of `weakestReachable` do not cover this case: the model that serves depends on
 * what earlier models cannot do.
 *
 * A route is reachable if a body may be sent to it while it has the best measurements and all others are penalized. For
 * each route, this plans the bodies that the route can just take and that exclude as many others as possible. It
 * considers only the `likely` routes.
 */
export function weakestByPlanning(
  request: RoutingRequest,
  needs: Needs,
  context: PlanningContext,
  weakest: PrivacyClass,
  likely?: readonly Route[],
): PrivacyClass {
  const names = namesOf(request);
  const models = names.flatMap((name) => {
    const { id } = parseModelReference(name);
    return id === autoModelId ? [...context.catalog.models.values()] : (context.catalog.models.get(id) ?? []);
  });
  const routes = models.flatMap((model) => model.routes);
  const boundary = boundaryClass[context.preferences.privacy_boundary];
  let found = weakest;
  for (const route of likely ?? routes) {
    if (comparePrivacy(route.privacyClass, found) >= 0 || comparePrivacy(route.privacyClass, boundary) < 0) continue;
    const status = favouring(route, routes);
    for (const body of hardestBodies(route, needs, { routes, severalModels: names.length > 1 })) {
      const plan = planRequest(request, body, { ...context, status });
      for (const { privacyClass } of plan.ok ? sentTo(plan.value) : []) {
        if (comparePrivacy(privacyClass, found) < 0) found = privacyClass;
      }
    }
  }
  return found;
}

interface Scope {
  readonly routes: readonly Route[];
  /** Whether another model can serve if one cannot. */
  readonly severalModels: boolean;
}

/** A status in which this route has the best possible measurements, and all others are penalized and have the worst. */
function favouring(route: Route, routes: readonly Route[]): RouteStatus {
  const best = { successes: measurementMinimum, ttftMs: 0, tokensPerSecond: Number.MAX_SAFE_INTEGER };
  const worst = { successes: 0, ttftMs: Number.MAX_SAFE_INTEGER, tokensPerSecond: 0 };
  return {
    measurements: new Map(
      routes.map(({ id }) => [id, { requests: measurementMinimum, ...(id === route.id ? best : worst) }]),
    ),
    penalized: ({ id }) => id !== route.id,
  };
}

/** The most demanding bodies that a route can still take. */
function* hardestBodies(route: Route, needs: Needs, scope: Scope): Iterable<Needs> {
  const window = route.contextLength ?? unlimited;
  const most = Math.min(route.maxOutputTokens ?? window, window);
  // Prices change at tiers, so a ceiling may exclude a route from there on. Between two tiers, the longest prompt
  // excludes the most routes.
  const tiers = scope.routes.flatMap(({ price }) => (price.tiers ?? []).map((tier) => tier.abovePromptTokens));
  const prompts = new Set([needs.promptTokens, window - most, ...tiers.flatMap((above) => [above, above + 1])]);
  for (const capabilities of capabilitiesFor(route, needs, scope.severalModels)) {
    for (const promptTokens of prompts) {
      yield { ...needs, ...capabilities, promptTokens };
      const maxOutputTokens = Math.min(most, window - promptTokens);
      if (maxOutputTokens >= 1) yield { ...needs, ...capabilities, promptTokens, maxOutputTokens };
    }
  }
}

/**
 * Everything that the route offers. If another model can serve, also every part of that. The need that excludes a
 * model's strongest tier may let its next tier serve a prompt that was too long for the strongest.
 */
function* capabilitiesFor(
  { capabilities }: Route,
  needs: Needs,
  anyPart: boolean,
): Iterable<Pick<Needs, 'tools' | 'vision' | 'structuredOutput'>> {
  const options = (needed: boolean, offered: boolean): boolean[] =>
    needed || !offered ? [needed] : anyPart ? [false, true] : [true];
  for (const tools of options(needs.tools, capabilities.tools)) {
    for (const vision of options(needs.vision, capabilities.vision)) {
      for (const structuredOutput of options(needs.structuredOutput, capabilities.structuredOutput)) {
        yield { tools, vision, structuredOutput };
      }
    }
  }
}
