import { boundaryClass, type Preferences, strongest } from '@sotto/wire';
import type { Model } from '../catalog/catalog.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import { accept, type Decision, type Refusal, refuse } from '../policy/refusal.ts';
import { bestLead, compareByStrategy } from './auto-strategy.ts';
import { type Demands, demandsOf } from './demands.ts';
import { isDominated, isTooDear } from './dominated.ts';
import { type EligibilityRule, eligibilityRules, isNamed, lastFailing } from './eligibility.ts';
import type { Needs } from './needs.ts';
import { type Lead, leadOf } from './plan-model.ts';
import type { PlanningContext } from './planning-context.ts';
import { modelFacts } from './route-facts.ts';

/** What a choice is made from. */
export type AutoContext = Pick<PlanningContext, 'catalog' | 'preferences' | 'status'>;

/**
 * Chooses the model for `/auto` (interface 2.2, rule 6; 2.8): among the models that the workspace allows and that have
 * an eligible route under the policy, the best first route by the workspace's strategy; catalog order breaks ties.
 * `demands` are those of `autoDemands`.
 */
export function chooseModel(context: AutoContext, demands: Demands): Decision<Lead> {
  const { strategy } = context.preferences.auto;
  const lead = bestLead(likelyLeads(context, demands), strategy);
  return lead === undefined ? refusalOf(context, demands) : accept(lead);
}

/** What a request for `/auto` demands of routes: the workspace's allowed tiers are a floor of their own. */
export function autoDemands(policy: MergedPolicy, needs: Needs, { auto }: Preferences): Demands {
  const narrowed: MergedPolicy = {
    ...policy,
    floor: strongest(policy.floor, boundaryClass[auto.tiers]),
    // Where the allowed tiers demand as much as the sort does, asking for `anonymous` would not help.
    floorCarriedBySort: policy.floorCarriedBySort && auto.tiers === 'Standard',
  };
  return demandsOf(narrowed, needs);
}

/** The models that the workspace lets `/auto` choose from, of the kind that is asked for. */
export function autoModels({ catalog, preferences }: AutoContext, { needs }: Demands): readonly Model[] {
  const { mode, ids } = preferences.auto.models;
  const ofKind = [...catalog.models.values()].filter(({ type }) => type === needs.modelType);
  if (mode === 'all') return ofKind;
  const named = new Set(ids);
  return ofKind.filter(({ id }) => named.has(id) === (mode === 'only'));
}

/** The leads of all models that have one, in catalog order. */
export const allLeads = (context: AutoContext, demands: Demands): readonly Lead[] =>
  autoModels(context, demands).flatMap((model) => leadOf(model, demands, context.status) ?? []);

/** The leads without those that cannot win, most of which are passed over without a look at their routes. */
function likelyLeads(context: AutoContext, demands: Demands): readonly Lead[] {
  const { strategy } = context.preferences.auto;
  const comparing = { strategy, demands, measurements: context.status.measurements };
  const leads: Lead[] = [];
  let usual: Lead | undefined;
  let isComplete = true;
  for (const model of autoModels(context, demands)) {
    if (usual !== undefined && isSteady(usual) && isDominated(model, usual.first, comparing)) {
      isComplete = false;
      continue;
    }
    const lead = isTooDear(model, demands) ? undefined : leadOf(model, demands, context.status);
    if (lead === undefined) continue;
    leads.push(lead);
    if (usual === undefined || compareByStrategy(strategy, lead.first, usual.first) < 0) usual = lead;
  }
  // Where the usual choice has failed recently, a model that it outdid may be the one to stand in for it.
  return isComplete || usual === undefined || isSteady(usual) ? leads : allLeads(context, demands);
}

const isSteady = (lead: Lead): boolean => lead.now === lead.first && !lead.isPenalized;

/** Where the models drop out, in the order of errors (design 6): the last of these that any model reached is the error. */
const stages = [
  { type: 'privacy_boundary_not_met', lacks: 'within the workspace privacy boundary', param: undefined },
  { type: 'no_provider_route_meets_privacy', lacks: 'that meets the privacy floor', param: undefined },
  { type: 'no_provider_route', lacks: 'that is eligible under the policy', param: 'provider' },
  { type: 'no_provider_route_meets_price', lacks: 'within the price ceiling', param: 'provider.max_price' },
  { type: 'context_too_large', lacks: 'that holds the prompt plus the requested output', param: undefined },
] as const;

const priceStage = stages.findIndex(({ type }) => type === 'no_provider_route_meets_price');

const typeOfRule = {
  boundary: 'privacy_boundary_not_met',
  encryption: 'no_provider_route_meets_privacy',
  floor: 'no_provider_route_meets_privacy',
  only: 'no_provider_route',
  ignore: 'no_provider_route',
  capability: 'no_provider_route',
  parameters: 'no_provider_route',
  price: 'no_provider_route_meets_price',
} as const satisfies Record<EligibilityRule, Refusal['type']>;

/**
 * The type of the refusal that a model without a lead would get; undefined for one without a route that `only` names.
 * Routes that it does not name do not count, so that a request learns what keeps the named ones from serving it.
 */
function refusedAs(model: Model, demands: Demands): (typeof stages)[number]['type'] | undefined {
  const { only } = demands;
  const named = modelFacts(model).filter((facts) => only === undefined || isNamed(only, facts));
  const furthest = lastFailing(named, demands);
  if (furthest === -1) return undefined;
  const rule = eligibilityRules[furthest];
  return rule === undefined ? 'context_too_large' : typeOfRule[rule];
}

function refusalOf(context: AutoContext, demands: Demands): ReturnType<typeof refuse> {
  let furthest = -1;
  for (const model of autoModels(context, demands)) {
    // What is too dear got no further than to its price.
    if (furthest >= priceStage && isTooDear(model, demands)) continue;
    const type = refusedAs(model, demands);
    furthest = Math.max(
      furthest,
      stages.findIndex((stage) => stage.type === type),
    );
  }
  const stage = stages[furthest];
  if (stage === undefined) {
    return demands.only === undefined
      ? refuse('no_provider_route', 'There is no model that `/auto` may choose.')
      : refuse(
          'no_provider_route',
          'No model that `/auto` may choose has a provider that `provider.only` names.',
          'provider',
        );
  }
  const { type, lacks, param } = stage;
  const sentence = `No model that \`/auto\` may choose has a provider ${lacks}`;
  if (type !== 'no_provider_route_meets_privacy') return refuse(type, `${sentence}.`, param);
  const { floor, sort, floorCarriedBySort } = demands.policy;
  const asked = floorCarriedBySort
    ? `, which sorting by ${sort} asks for. To allow anonymous providers, send \`provider.minimum_privacy: "anonymous"\`.`
    : '.';
  return refuse(type, `${sentence} (${floor} or stronger)${asked}`);
}
