import { bestLead, type Criterion, compareByStrategy, criteria, figureOf } from './auto-strategy.ts';
import { type AutoContext, allLeads, autoModels } from './choose-model.ts';
import { type Demands, demandsOf } from './demands.ts';
import { type EligibilityRule, eligibilityRules, lastFailing } from './eligibility.ts';
import type { Needs } from './needs.ts';
import type { Lead } from './plan-model.ts';
import type { Plan } from './plan-request.ts';
import { modelFacts } from './route-facts.ts';
import type { ScoredRoute } from './scored-route.ts';

/**
 * Why a model was not a candidate: the catalog or the workspace excludes it, it has no provider, or a rule excluded all its routes.
 */
export type DropRule = 'models' | 'routes' | EligibilityRule | 'context';

/** Why `/auto` chose the model that it chose. */
export interface ChoiceExplanation {
  /** The whole explanation, in words for people. */
  readonly text: string;
  /** How many models could have served, including the chosen one. */
  readonly candidates: number;
  /** The model that would have been chosen next. Undefined if no other could serve. */
  readonly runnerUp: string | undefined;
  /** The criterion that separated the chosen model from the runner-up. */
  readonly decidedBy: Criterion | 'health' | 'catalog_order' | 'alone';
  /** How many models of the requested type each rule excluded. */
  readonly dropped: ReadonlyMap<DropRule, number>;
}

/**
 * Explains the choice of a plan that `/auto` made. Undefined if the request named a model. Needs and context must be
 * those of the plan. Examines every model in full: for previews, not for requests.
 */
export function explainChoice({ choice }: Plan, needs: Needs, context: AutoContext): ChoiceExplanation | undefined {
  if (choice === undefined) return undefined;
  const { strategy } = context.preferences.auto;
  const demands = demandsOf(choice.policy, needs);
  const leads = allLeads(context, demands);
  const winner = leads.find(({ model }) => model.id === choice.modelId);
  if (winner === undefined) return undefined;
  const runnerUp = bestLead(
    leads.filter((lead) => lead !== winner),
    strategy,
  );
  const ailing = leads.find(
    (lead) => lead.isPenalized && !winner.isPenalized && compareByStrategy(strategy, lead.first, winner.now) < 0,
  );
  const decidedBy = decisionOf(winner, runnerUp, ailing, criteria[strategy]);
  const dropped = dropsOf(demands, context, leads);
  return {
    text: [
      `\`${winner.model.id}\` at \`${winner.now.route.publicProviderId}\` was chosen by the strategy \`${strategy}\`:`,
      `${reasonOf({ winner, runnerUp, ailing, decidedBy, count: leads.length })}${dropsInWords(dropped)}`,
    ].join(' '),
    candidates: leads.length,
    runnerUp: runnerUp?.model.id,
    decidedBy,
    dropped,
  };
}

function decisionOf(
  winner: Lead,
  runnerUp: Lead | undefined,
  ailing: Lead | undefined,
  inOrder: readonly Criterion[],
): ChoiceExplanation['decidedBy'] {
  if (runnerUp === undefined) return 'alone';
  if (ailing !== undefined) return 'health';
  return (
    inOrder.find((criterion) => figureOf(criterion, winner.now) !== figureOf(criterion, runnerUp.now)) ??
    'catalog_order'
  );
}

interface Reason {
  readonly winner: Lead;
  readonly runnerUp: Lead | undefined;
  readonly ailing: Lead | undefined;
  readonly decidedBy: ChoiceExplanation['decidedBy'];
  readonly count: number;
}

function reasonOf({ winner, runnerUp, ailing, decidedBy, count }: Reason): string {
  if (runnerUp === undefined || decidedBy === 'alone') return 'it is the only model that can serve the request.';
  const next = `\`${runnerUp.model.id}\` at \`${runnerUp.now.route.publicProviderId}\``;
  switch (decidedBy) {
    case 'health':
      return `\`${ailing?.model.id}\` would come first, but has failed recently.`;
    case 'catalog_order':
      return `it is equal to ${next} and comes before it in the catalog.`;
    default: {
      const [own, other] = [winner, runnerUp].map(({ now }) => inWords(decidedBy, now));
      return `of ${count} models that can serve the request it has ${merits[decidedBy]}, ${own}; next is ${next} with ${other}.`;
    }
  }
}

const merits: Readonly<Record<Criterion, string>> = {
  tier: 'the strongest tier',
  price: 'the lowest price',
  latency: 'the shortest time to the first token',
  score: 'the best score of price, speed and success',
};

function inWords(criterion: Criterion, scored: ScoredRoute): string {
  switch (criterion) {
    case 'tier':
      return `\`${scored.route.privacyClass}\``;
    case 'price':
      return `${scored.input / 1e6} USD for input and ${scored.output / 1e6} USD for output per million tokens`;
    case 'latency':
      if (scored.ttftMs !== undefined) return `${scored.ttftMs} ms`;
      return scored.ttftAtMostMs === undefined ? 'none measured yet' : `at most ${scored.ttftAtMostMs} ms`;
    case 'score':
      // Nano-USD: the score is a cost, weighted by speed and success.
      return `${(scored.score / 1e9).toPrecision(3)} USD for a typical request as weighed`;
    default:
      return criterion satisfies never;
  }
}

function dropsOf(demands: Demands, context: AutoContext, leads: readonly Lead[]): ReadonlyMap<DropRule, number> {
  const dropped = new Map<DropRule, number>();
  const candidates = new Set(leads.map(({ model }) => model));
  const allowed = new Set(autoModels(context, demands));
  for (const model of context.catalog.models.values()) {
    if (model.type !== demands.needs.modelType || candidates.has(model)) continue;
    const furthest = lastFailing(modelFacts(model), demands);
    const rule: DropRule = !allowed.has(model)
      ? 'models'
      : furthest === -1
        ? 'routes'
        : (eligibilityRules[furthest] ?? 'context');
    dropped.set(rule, (dropped.get(rule) ?? 0) + 1);
  }
  return dropped;
}

const whyDropped: Readonly<Record<DropRule, string>> = {
  models: 'not among the models that the catalog and the workspace allow',
  routes: 'without a provider at present',
  boundary: 'below the privacy boundary of the workspace',
  encryption: 'not for this kind of encryption',
  floor: 'below the privacy floor, or the tiers that the workspace allows',
  only: 'not at a provider that the request names',
  ignore: 'only at providers that are ignored or disabled',
  capability: 'without what the request needs',
  parameters: 'without a parameter that the request requires',
  price: 'above the price ceiling',
  context: 'too small for the request',
};

function dropsInWords(dropped: ReadonlyMap<DropRule, number>): string {
  if (dropped.size === 0) return '';
  const counts = [...dropped].map(([rule, count]) => `${count} ${whyDropped[rule]}`);
  return ` Left out: ${counts.join(', ')}.`;
}
