import type { Model } from '../catalog/catalog.ts';
import type { Preferences } from '../policy/preferences.ts';
import { bestScore } from './default-score.ts';
import type { Demands } from './demands.ts';
import type { Lead } from './plan-model.ts';
import { modelFacts, strengthOf } from './route-facts.ts';
import type { Standing } from './standing.ts';

export type AutoStrategy = Preferences['auto']['strategy'];

/** What a strategy compares leads by: the smaller figure wins. */
export type Criterion = 'tier' | 'price' | 'latency' | 'score';

/** What each strategy of `/auto` goes by (interface 2.8): the first that differs decides. */
export const criteria: Readonly<Record<AutoStrategy, readonly Criterion[]>> = {
  cheapest: ['price', 'tier'],
  fastest: ['latency', 'price', 'tier'],
  most_private: ['tier', 'price'],
  balanced: ['tier', 'score', 'price'],
};

/** The figure of a criterion. A route that is not measured counts as slower than any that is, by a finite amount. */
export function figureOf(criterion: Criterion, standing: Standing): number {
  switch (criterion) {
    case 'tier':
      return -standing.strength;
    case 'price':
      return standing.price;
    case 'latency':
      return standing.ttftAtMostMs ?? Number.MAX_SAFE_INTEGER;
    case 'score':
      return standing.score;
    default:
      return criterion satisfies never;
  }
}

export function compareByStrategy(strategy: AutoStrategy, a: Standing, b: Standing): number {
  for (const criterion of criteria[strategy]) {
    const difference = figureOf(criterion, a) - figureOf(criterion, b);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The lead that wins by a strategy; of equal ones the first. A lead that has failed recently goes behind the healthy
 * ones, yet never so that the choice falls on a weaker tier than it would on a day when every route is healthy.
 */
export function bestLead(leads: readonly Lead[], strategy: AutoStrategy): Lead | undefined {
  const usual = firstOf(leads, (a, b) => compareByStrategy(strategy, a.first, b.first));
  if (usual === undefined) return undefined;
  const candidates = leads.filter((lead) => lead === usual || lead.now.strength >= usual.first.strength);
  return firstOf(
    candidates,
    (a, b) => Number(a.isPenalized) - Number(b.isPenalized) || compareByStrategy(strategy, a.now, b.now),
  );
}

function firstOf(leads: readonly Lead[], compare: (a: Lead, b: Lead) => number): Lead | undefined {
  let best = leads[0];
  for (const lead of leads) if (best !== undefined && compare(lead, best) < 0) best = lead;
  return best;
}

/** The best that any lead of a model can offer, whatever is measured: of its routes from each strength on. */
interface Bounds {
  /** The strongest class that takes plaintext. */
  readonly strength: number;
  readonly price: readonly number[];
  readonly score: readonly number[];
}

const known = new WeakMap<Model, Bounds>();
const e2ee = strengthOf('e2ee');

function boundsOf(model: Model): Bounds {
  const found = known.get(model);
  if (found !== undefined) return found;
  const plain = modelFacts(model).filter(({ strength }) => strength !== e2ee);
  const least = (figure: (facts: (typeof plain)[number]) => number): number[] =>
    [0, 1, 2].map((from) => Math.min(...plain.filter(({ strength }) => strength >= from).map(figure)));
  const bounds = {
    strength: Math.max(...plain.map(({ strength }) => strength)),
    price: least(({ price }) => price),
    score: least(({ cost }) => bestScore(cost)),
  };
  known.set(model, bounds);
  return bounds;
}

/** Whether no lead of a model can be as good as this one: told without a look at its routes. */
export function isOutdone(model: Model, by: Standing, strategy: AutoStrategy, { needs, floor }: Demands): boolean {
  if (needs.encrypted) return false;
  const bounds = boundsOf(model);
  const isNoStronger = bounds.strength <= by.strength;
  const hopeless = (least: number | undefined, figure: number): boolean => (least ?? Number.POSITIVE_INFINITY) > figure;
  switch (strategy) {
    case 'cheapest':
      return hopeless(bounds.price[floor], by.price);
    case 'fastest':
      return false;
    case 'most_private':
      return isNoStronger && (bounds.strength < by.strength || hopeless(bounds.price[by.strength], by.price));
    case 'balanced':
      return isNoStronger && (bounds.strength < by.strength || hopeless(bounds.score[by.strength], by.score));
    default:
      return strategy satisfies never;
  }
}
