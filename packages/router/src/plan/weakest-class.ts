import { autoModelId, comparePrivacy, type PrivacyClass, parseModelReference, strongest } from '@sotto/wire';
import type { Model, Route } from '../catalog/catalog.ts';
import { measurementMinimum } from '../health/measurement.ts';
import { boundaryClass } from '../policy/preferences.ts';
import { accept, type Decision } from '../policy/refusal.ts';
import type { Needs } from './needs.ts';
import type { RouteStatus } from './order-routes.ts';
import { planRequest, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';

/**
 * The weakest class that any body sent under this policy could reach: what a ticket promises (interface 2.4).
 * A ticket is minted before the body is known and used later than it is minted: a body that needs tools, images, a
 * schema, a long context or a long answer can rule out the strongest routes, and measurements and penalties change. A
 * route is reachable if it is in the plan of some body while it measures best, so for each route the bodies are planned
 * that it can just take and that rule out as many others as possible; the weakest route of all those plans counts.
 * Refused like `planRequest` where not even a body without needs has a route.
 */
export function weakestReachableClass(
  request: RoutingRequest,
  needs: Needs,
  context: PlanningContext,
): Decision<PrivacyClass> {
  const plain = planRequest(request, needs, context);
  if (!plain.ok) return plain;
  let weakest: PrivacyClass = 'e2ee';
  const count = (routes: readonly Route[]): void => {
    for (const { privacyClass } of routes) if (comparePrivacy(privacyClass, weakest) < 0) weakest = privacyClass;
  };
  count(plain.value.routes);
  const { boundary } = plain.value.policy;
  for (const scope of scopesOf(request, context)) {
    const lowest = scope.chosenByAuto ? strongest(boundary, boundaryClass[context.preferences.auto.tiers]) : boundary;
    for (const route of scope.routes) {
      if (comparePrivacy(weakest, lowest) <= 0) break;
      const status = favouring(route);
      for (const body of hardestBodies(route, needs, scope)) {
        const plan = planRequest(scope.request, body, { ...scope.context, status });
        if (plan.ok) count(plan.value.routes);
      }
    }
  }
  return accept(weakest);
}

/** A request whose every plan is made of these routes. */
interface Scope {
  readonly request: RoutingRequest;
  readonly context: PlanningContext;
  readonly routes: readonly Route[];
  readonly chosenByAuto: boolean;
  /** Whether one model can step in for another. */
  readonly severalModels: boolean;
}

/**
 * The whole request, where it names its models. With `/auto`, one scope for each model it may choose or fall back to:
 * measurements and penalties may make it choose any of them.
 */
function scopesOf(request: RoutingRequest, context: PlanningContext): Scope[] {
  const { catalog } = context;
  const names = [...new Set([request.model, ...(request.models ?? [])])];
  const isAuto = (name: string): boolean => parseModelReference(name).id === autoModelId;
  const modelsOf = (name: string): Model[] => {
    const found = catalog.models.get(parseModelReference(name).id);
    return isAuto(name) ? [...catalog.models.values()] : found === undefined ? [] : [found];
  };
  if (!names.some(isAuto)) {
    const routes = names.flatMap(modelsOf).flatMap((model) => model.routes);
    return [{ request, context, routes, chosenByAuto: false, severalModels: names.length > 1 }];
  }
  return names.flatMap((name) =>
    modelsOf(name).map((model) => ({
      request: { model: name, provider: request.provider },
      context: { ...context, catalog: { ...catalog, models: new Map([[model.id, model]]) } },
      routes: model.routes,
      chosenByAuto: isAuto(name),
      severalModels: false,
    })),
  );
}

/** A status in which every route is healthy and this one alone is measured, and could not be faster. */
const favouring = (route: Route): RouteStatus => ({
  measurements: new Map([
    [
      route.id,
      {
        requests: measurementMinimum,
        successes: measurementMinimum,
        ttftMs: 0,
        tokensPerSecond: Number.POSITIVE_INFINITY,
      },
    ],
  ]),
  penalized: () => false,
});

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
