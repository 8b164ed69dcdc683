import type { Model, Route } from '../catalog/catalog.ts';
import { matchesProvider } from '../catalog/provider-id.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import type { Demands } from './demands.ts';
import { keptBy } from './eligibility.ts';
import { holds } from './needs.ts';
import { goesByTier, isWithinStepDown } from './plan-model.ts';
import { modelFacts, type RouteFacts, strengthOf } from './route-facts.ts';

/**
 * The weakest route of a model, weaker than `below`, that some body could be sent to at some time; undefined where there
 * is none. The demands are those of a body without needs.
 *
 * A route is in a plan if the policy allows to step down to it, or if no stronger route is first. Where only one attempt
 * is made, it must be first itself. So for each route: is there a body that it can take, and for which no stronger route
 * that must go ahead of it is left? The more a body needs,
 * the longer its prompt and its answer, the more routes it rules out; the bodies to ask about are therefore those of
 * which the route itself could not take more. They need all that it offers and fill its window, and differ only in
 * how the window is shared between prompt and answer.
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
 * The routes of a model that a plan could hold beside or instead of those of the models before it. A route drops out
 * that its own model never lets serve, or that is shadowed: a route of a model before takes every body that it takes.
 */
export function reachableAfter(model: Model, demands: Demands, before: readonly Scope[]): readonly Route[] {
  const eligible = takersOf(model, demands);
  const shadows = before.flatMap((scope) =>
    servingAnyway(scope).map((facts) => ({ facts, room: roomIn(scope, facts) })),
  );
  return eligible
    .filter((facts) => isReachable(facts, eligible, demands))
    .filter((facts) => {
      // Where a step down to it is allowed, it may follow the routes of a model that serves.
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

/** The routes whose model is not refused as long as they take the body: by tier, those of the strongest tier alone. */
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
  // Where a step down to it is allowed, the penalties of stronger routes may bring it to the front.
  const goesAhead = mayFollow ? goesAheadDespitePenalties : mustGoAhead;
  const ahead = eligible.filter((other) => other.strength > facts.strength && goesAhead(other, facts, policy));
  // What offers less than the route is ruled out by a body that needs all that the route offers.
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
          // A tier is chosen before context windows are looked at.
          prompt > rival.prompt || (!byTier && (prompt + answer > rival.window || answer > rival.answer)),
      );
    });
}

/** Whether a stronger route goes ahead of a weaker one whatever is measured, as long as a body leaves both. */
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
      // Measurements may say that every stronger route keeps failing; against a fallback floor they say nothing.
      const floor = policy.fallbackFloor === undefined ? 0 : strengthOf(policy.fallbackFloor);
      return stronger.strength >= floor && weaker.strength < floor;
    }
    default:
      return policy.sort satisfies never;
  }
}

/** Whether a stronger route goes ahead of a weaker one even while it is penalized, as long as a body leaves both. */
function goesAheadDespitePenalties(stronger: RouteFacts, weaker: RouteFacts, policy: MergedPolicy): boolean {
  const [left, right] = [positionIn(policy.order, stronger.route), positionIn(policy.order, weaker.route)];
  return left === right ? policy.sort === 'privacy' : left < right;
}

function positionIn(order: readonly string[], { publicProviderId }: Route): number {
  const index = order.findIndex((entry) => matchesProvider(entry, publicProviderId));
  return index === -1 ? order.length : index;
}

/** More tokens than any window holds: what a route without limits can take. */
const unlimited = 2 ** 50;

/** How much of a prompt, of an answer and of both together a route takes under a policy, in tokens. */
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
