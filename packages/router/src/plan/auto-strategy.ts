import type { Preferences } from '@sotto/wire';
import type { Lead } from './plan-model.ts';
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

/** A route that is not measured counts as slower than any that is, by a finite amount. */
export const latencyFigure = (ttftMs: number | undefined): number => ttftMs ?? Number.MAX_SAFE_INTEGER;

export function figureOf(criterion: Criterion, standing: Standing): number {
  switch (criterion) {
    case 'tier':
      return -standing.strength;
    case 'price':
      return standing.price;
    case 'latency':
      return latencyFigure(standing.ttftAtMostMs);
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
