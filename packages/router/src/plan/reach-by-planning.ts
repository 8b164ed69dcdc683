import { autoModelId, boundaryClass, comparePrivacy, type PrivacyClass, parseModelReference } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { measurementMinimum } from '../health/measurement.ts';
import type { Needs } from './needs.ts';
import type { RouteStatus } from './order-routes.ts';
import { attemptsOf, type Plan, planRequest, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';

/**
 * The routes of a plan that a request may be sent to by the time its ticket is used. With several attempts these are all:
 * which ones are tried depends on the bodies and the penalties of then.
 */
export const sentTo = (plan: Plan): readonly Route[] => (plan.maxAttempts > 1 ? plan.routes : attemptsOf(plan));

/**
 * The weakest class, no stronger than `weakest`, that any body of a request for named models could reach, found by
 * planning: which of several models serves depends on what the ones before it cannot do, and the shortcuts of
 * `weakestReachable` do not see that. A route is reachable if a body may be sent to it while it measures best and all others
 * are penalized; so
 * for each route the bodies are planned that it can just take and that rule out as many others as possible. Only the
 * `likely` routes are asked about.
 */
export function weakestByPlanning(
  request: RoutingRequest,
  needs: Needs,
  context: PlanningContext,
  weakest: PrivacyClass,
  likely?: readonly Route[],
): PrivacyClass {
  const names = [...new Set([request.model, ...(request.models ?? [])])];
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
  /** Whether one model can step in for another. */
  readonly severalModels: boolean;
}

/** A status in which this route could not be faster, and all others are penalized and could not be worse. */
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

/** More tokens than any window holds: what a route without limits can take. */
const unlimited = 2 ** 50;

/** The bodies that ask most of a route and that it can still take. */
function* hardestBodies(route: Route, needs: Needs, scope: Scope): Iterable<Needs> {
  const window = route.contextLength ?? unlimited;
  const most = Math.min(route.maxOutputTokens ?? window, window);
  // Prices, and so ceilings, change at tiers; between two of them, the longest prompt rules out the most.
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
 * Everything the route offers; where another model can step in, any part of it too: what rules a model's strongest tier
 * out may let its next tier serve a prompt that the strongest did not hold.
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
