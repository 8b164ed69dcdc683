import type { Preferences } from '@sotto/wire';
import type { Lead } from './plan-model.ts';
import type { ScoredRoute } from './scored-route.ts';

export type AutoStrategy = Preferences['auto']['strategy'];

/** A figure by which a strategy compares leads. The smaller figure wins. */
export type Criterion = 'tier' | 'price' | 'latency' | 'score';

/** The figures that each strategy of `/auto` compares, in order. The first that differs decides. */
export const criteria: Readonly<Record<AutoStrategy, readonly Criterion[]>> = {
  cheapest: ['price', 'tier'],
  fastest: ['latency', 'price', 'tier'],
  most_private: ['tier', 'price'],
  balanced: ['tier', 'score', 'price'],
};

/**
 * An unmeasured route counts as slower than any measured route. The number is finite, so that two can be subtracted.
 */
export const latencyFigure = (ttftMs: number | undefined): number => ttftMs ?? Number.MAX_SAFE_INTEGER;

export function figureOf(criterion: Criterion, scored: ScoredRoute): number {
  switch (criterion) {
    case 'tier':
      return -scored.strength;
    case 'price':
      return scored.price;
    case 'latency':
      return latencyFigure(scored.ttftAtMostMs);
    case 'score':
      return scored.score;
    default:
      return criterion satisfies never;
  }
}

export function compareByStrategy(strategy: AutoStrategy, a: ScoredRoute, b: ScoredRoute): number {
  for (const criterion of criteria[strategy]) {
    const difference = figureOf(criterion, a) - figureOf(criterion, b);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The winning lead under a strategy; if several are equal, the first. A lead that failed recently goes behind healthy
 * ones. But that never selects a weaker tier than if every route were healthy.
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
