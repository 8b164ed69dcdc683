import type { Model } from '../catalog/catalog.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import type { Demands } from './demands.ts';
import { keptBy } from './eligibility.ts';
import { holds } from './needs.ts';
import { positionIn } from './order-routes.ts';
import { goesByTier, isWithinStepDown } from './plan-model.ts';
import { modelFacts, type RouteFacts, strengthOf } from './route-facts.ts';

/** A model, and what a request demands of its routes. The demands are those of a body without needs. */
export interface Scope {
  readonly model: Model;
  readonly demands: Demands;
}

/**
 * The weakest route of a model, weaker than `below`, that some body could be sent to at some time; undefined without
 * such a route. `earlier` are the models that are asked first: this one serves only if all of them refuse the body.
 *
 * A route is in a plan if the policy allows a step down to it, or if no stronger route is first. If only one attempt is
 * allowed, the route must itself be first. So for each route the question is: can it take a body that excludes every
 * stronger route which must go ahead of it, and every earlier model?
 *
 * A longer prompt and a longer answer exclude more routes, so only the bodies at the limits of the route matter.
 */
export function weakestReachable(scope: Scope, earlier: readonly Scope[], below: number): RouteFacts | undefined {
  const kept = keptOf(scope);
  // Most models have no weaker route at all.
  if (!kept.some(({ strength }) => strength < below)) return undefined;
  const takers = takersOf(kept, scope);
  const before = earlier.map((each) => ({
    takers: takersOf(keptOf(each), each),
    byTier: goesByTier(each.demands.policy),
  }));
  let weakest: RouteFacts | undefined;
  for (const taker of takers) {
    if (taker.facts.strength >= (weakest?.strength ?? below)) continue;
    if (isReachable(taker, takers, scope.demands, before)) weakest = taker.facts;
  }
  return weakest;
}

const keptOf = ({ model, demands }: Scope): readonly RouteFacts[] =>
  keptBy(demands, modelFacts(model)).filter(({ route }) => holds(route, demands.needs));

/** A route that takes a body without needs, with the most tokens that it takes under a policy. */
interface Taker {
  readonly facts: RouteFacts;
  /** The longest prompt within the price ceiling. */
  readonly prompt: number;
  readonly answer: number;
  /** Prompt and answer together. */
  readonly window: number;
}

/** More tokens than any context window. Stands for a route without limits. */
const unlimited = 2 ** 50;

const takersOf = (kept: readonly RouteFacts[], { demands }: Scope): readonly Taker[] =>
  kept.map((facts) => takerOf(facts, demands.policy));

function takerOf(facts: RouteFacts, { maxPrice }: MergedPolicy): Taker {
  const { price, contextLength: window = unlimited, maxOutputTokens: answer = window } = facts.route;
  const dear = price.tiers?.find(({ input = 0, output = 0 }) => input > maxPrice.input || output > maxPrice.output);
  return { facts, prompt: dear?.abovePromptTokens ?? unlimited, answer, window };
}

/** A body, as far as it decides which routes take it. */
interface Body {
  /** The capabilities that it needs, as `offerBits`. */
  readonly needs: number;
  readonly prompt: number;
  readonly answer: number;
}

const isEligible = ({ facts, prompt }: Taker, body: Body): boolean =>
  (facts.offers & body.needs) === body.needs && body.prompt <= prompt;

const isHeld = ({ answer, window }: Taker, body: Body): boolean =>
  body.answer <= answer && body.prompt + body.answer <= window;

interface EarlierModel {
  readonly takers: readonly Taker[];
  readonly byTier: boolean;
}

function isReachable(
  taker: Taker,
  takers: readonly Taker[],
  { policy }: Demands,
  earlier: readonly EarlierModel[],
): boolean {
  const { facts } = taker;
  const mayFollow = isWithinStepDown(facts.route, 'e2ee', policy);
  if (mayFollow && policy.maxAttempts > 1) return true;
  // If a step down to it is allowed, penalties on stronger routes may move it to the front.
  const goesAhead = mayFollow ? goesAheadDespitePenalties : mustGoAhead;
  const rivals = takers.filter(
    (other) => other.facts.strength > facts.strength && goesAhead(other.facts, facts, policy),
  );
  // A sort by tier chooses the tier before it checks context windows.
  const byTier = goesByTier(policy);
  const excludes = (body: Body): boolean =>
    rivals.every((rival) => !isEligible(rival, body) || (!byTier && !isHeld(rival, body))) &&
    earlier.every((model) => refuses(model, body));
  const others = [rivals, ...earlier.map((model) => model.takers)].flat();
  return limitBodies(taker, others, earlier.length > 0).some(excludes);
}

/** Whether a model refuses a body at some time: none of its routes takes it, or none of its strongest eligible tier. */
function refuses({ takers, byTier }: EarlierModel, body: Body): boolean {
  const eligible = takers.filter((taker) => isEligible(taker, body));
  const strongest = byTier ? Math.max(...eligible.map(({ facts }) => facts.strength)) : 0;
  return !eligible.some((taker) => taker.facts.strength >= strongest && isHeld(taker, body));
}

/**
 * The bodies at the limits of a route. They need everything that it offers. Beside earlier models they need also each
 * part of that: the need that excludes an earlier model's strongest tier may let its next tier serve.
 */
function limitBodies(
  { facts, prompt: dear, answer: most, window }: Taker,
  others: readonly Taker[],
  needsParts: boolean,
): readonly Body[] {
  const longest = Math.min(dear, window - 1);
  // Where another route becomes too dear, and where the answer begins to shrink.
  const prompts = [window - Math.min(most, window), longest, ...others.flatMap(({ prompt }) => [prompt, prompt + 1])];
  const parts = needsParts ? partsOf(facts.offers) : [facts.offers];
  return [...new Set(prompts)]
    .filter((prompt) => prompt >= 0 && prompt <= longest)
    .flatMap((prompt) => parts.map((needs) => ({ needs, prompt, answer: Math.min(most, window - prompt) })));
}

/** Every part of these capabilities, as `offerBits`. */
const partsOf = (offers: number): readonly number[] =>
  Array.from({ length: offers + 1 }, (_, part) => part).filter((part) => (part & offers) === part);

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
