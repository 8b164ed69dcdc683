import type { Model, Route } from '../catalog/catalog.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import type { Demands } from './demands.ts';
import { keptBy } from './eligibility.ts';
import { holds } from './needs.ts';
import { positionIn } from './order-routes.ts';
import { goesByTier, isWithinStepDown } from './plan-model.ts';
import { modelFacts, type RouteFacts, strengthOf } from './route-facts.ts';

/**
 * The weakest route of a model, weaker than `below`, that some body could be sent to at some time; undefined without
 * such a route. The demands are those of a body without needs.
 *
 * A route is in a plan if the policy allows a step down to it, or if no stronger route is first. If only one attempt is
 * allowed, the route must itself be first. So for each route the question is: can it take a body that excludes every
 * stronger route which must go ahead of it?
 *
 * More needs, a longer prompt and a longer answer exclude more routes. So only the bodies at the limit of the route
 * matter. They need everything that the route offers and fill its window. They differ only in how prompt and answer
 * share the window.
 */
export function weakestReachable(model: Model, demands: Demands, below: number): Route | undefined {
  const eligible = takersOf(model, demands);
  let weakest: RouteFacts | undefined;
  for (const facts of eligible) {
    if (facts.strength >= (weakest?.strength ?? below)) continue;
    if (isReachable(facts, eligible, demands)) weakest = facts;
  }
  return weakest?.route;
}

/**
 * The routes of a model that a plan could hold beside or instead of those of earlier models. Excludes a route that its
 * own model never uses. Excludes a shadowed route as well: a route of an earlier model takes every body that it takes.
 */
export function reachableAfter(model: Model, demands: Demands, before: readonly Scope[]): readonly Route[] {
  const eligible = takersOf(model, demands);
  const shadows = before.flatMap((scope) =>
    servingAnyway(scope).map((facts) => ({ facts, room: roomIn(scope, facts) })),
  );
  return eligible
    .filter((facts) => isReachable(facts, eligible, demands))
    .filter((facts) => {
      // If a step down to it is allowed, it may follow the routes of another model.
      if (isWithinStepDown(facts.route, 'e2ee', demands.policy)) return true;
      const taker = { facts, room: roomIn({ model, demands }, facts) };
      return !shadows.some((shadow) => takesAllOf(shadow, taker));
    })
    .map(({ route }) => route);
}

/** A model, and what a request demands of its routes. */
export interface Scope {
  readonly model: Model;
  readonly demands: Demands;
}

const takersOf = (model: Model, demands: Demands): readonly RouteFacts[] =>
  keptBy(demands, modelFacts(model)).filter(({ route }) => holds(route, demands.needs));

/**
 * The routes that keep their model from being refused if they can take the body. For a sort by tier, only those of the
 * strongest tier.
 */
function servingAnyway({ model, demands }: Scope): readonly RouteFacts[] {
  const eligible = takersOf(model, demands);
  if (!goesByTier(demands.policy)) return eligible;
  const strongest = Math.max(...eligible.map(({ strength }) => strength));
  return eligible.filter(({ strength }) => strength === strongest);
}

interface Taker {
  readonly facts: RouteFacts;
  readonly room: Room;
}

const roomIn = ({ demands }: Scope, facts: RouteFacts): Room => roomOf(facts, demands.policy);

const takesAllOf = (one: Taker, other: Taker): boolean =>
  (one.facts.offers & other.facts.offers) === other.facts.offers &&
  one.room.prompt >= Math.min(other.room.prompt, other.room.window) &&
  one.room.answer >= Math.min(other.room.answer, other.room.window) &&
  one.room.window >= other.room.window;

function isReachable(facts: RouteFacts, eligible: readonly RouteFacts[], demands: Demands): boolean {
  const { policy } = demands;
  const mayFollow = isWithinStepDown(facts.route, 'e2ee', policy);
  if (mayFollow && policy.maxAttempts > 1) return true;
  // If a step down to it is allowed, penalties on stronger routes may move it to the front.
  const goesAhead = mayFollow ? goesAheadDespitePenalties : mustGoAhead;
  const ahead = eligible.filter((other) => other.strength > facts.strength && goesAhead(other, facts, policy));
  // A body that needs everything the route offers excludes every route that offers less.
  const rivals = ahead
    .filter(({ offers }) => (offers & facts.offers) === facts.offers)
    .map((rival) => roomOf(rival, policy));
  if (rivals.length === 0) return true;
  const room = roomOf(facts, policy);
  const byTier = goesByTier(policy);
  const longest = Math.min(room.prompt, room.window - 1);
  const prompts = [room.window - Math.min(room.answer, room.window), ...rivals.map(({ prompt }) => prompt + 1)];
  return [...prompts, longest]
    .filter((prompt) => prompt >= 0 && prompt <= longest)
    .some((prompt) => {
      const answer = Math.min(room.answer, room.window - prompt);
      return rivals.every(
        (rival) =>
          // A sort by tier chooses the tier before it checks context windows.
          prompt > rival.prompt || (!byTier && (prompt + answer > rival.window || answer > rival.answer)),
      );
    });
}

/** Whether a stronger route always goes ahead of a weaker one, if a body can use both. Measurements must not matter. */
function mustGoAhead(stronger: RouteFacts, weaker: RouteFacts, policy: MergedPolicy): boolean {
  const [left, right] = [positionIn(policy.order, stronger.route), positionIn(policy.order, weaker.route)];
  if (left !== right) return left < right;
  switch (policy.sort) {
    case 'privacy':
      return true;
    case 'price':
      return stronger.price < weaker.price;
    case 'latency':
    case 'throughput':
      return false;
    case 'default': {
      // Measurements may show that every stronger route is failing. They cannot override a fallback floor.
      const floor = policy.fallbackFloor === undefined ? 0 : strengthOf(policy.fallbackFloor);
      return stronger.strength >= floor && weaker.strength < floor;
    }
    default:
      return policy.sort satisfies never;
  }
}

/** Whether a stronger route goes ahead of a weaker one even while it is penalized, if a body can use both. */
function goesAheadDespitePenalties(stronger: RouteFacts, weaker: RouteFacts, policy: MergedPolicy): boolean {
  const [left, right] = [positionIn(policy.order, stronger.route), positionIn(policy.order, weaker.route)];
  return left === right ? policy.sort === 'privacy' : left < right;
}

/** More tokens than any context window. Stands for a route without limits. */
export const unlimited = 2 ** 50;

/** The most tokens of prompt, answer and both together that a route takes under a policy. */
interface Room {
  /** The longest prompt within the price ceiling. */
  readonly prompt: number;
  readonly answer: number;
  readonly window: number;
}

function roomOf({ route }: RouteFacts, { maxPrice }: MergedPolicy): Room {
  const window = route.contextLength ?? unlimited;
  const dear = route.price.tiers?.find(
    ({ input = 0, output = 0 }) => input > maxPrice.input || output > maxPrice.output,
  );
  return { prompt: dear?.abovePromptTokens ?? unlimited, answer: route.maxOutputTokens ?? window, window };
}
