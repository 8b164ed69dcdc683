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

export type AutoContext = Pick<PlanningContext, 'catalog' | 'preferences' | 'status'>;

/**
 * Chooses the model for `/auto`. Candidates are the models that the workspace allows and that have an eligible route
 * under the policy. The workspace's strategy compares their first routes. Catalog order breaks ties. `demands` are
 * those of `autoDemands`.
 */
export function chooseModel(context: AutoContext, demands: Demands): Decision<Lead> {
  const { strategy } = context.preferences.auto;
  const lead = bestLead(likelyLeads(context, demands), strategy);
  return lead === undefined ? refusalOf(context, demands) : accept(lead);
}

/** The demands of a request for `/auto` on routes. The workspace's allowed tiers act as a further floor. */
export function autoDemands(policy: MergedPolicy, needs: Needs, { auto }: Preferences): Demands {
  const narrowed: MergedPolicy = {
    ...policy,
    floor: strongest(policy.floor, boundaryClass[auto.tiers]),
    // If the allowed tiers demand as much as the sort, asking for `anonymous` would not help.
    floorCarriedBySort: policy.floorCarriedBySort && auto.tiers === 'Standard',
  };
  return demandsOf(narrowed, needs);
}

/** The models of the requested type that the catalog and the workspace allow for `/auto`. */
export function autoModels({ catalog, preferences }: AutoContext, { needs }: Demands): readonly Model[] {
  const { mode, ids } = preferences.auto.models;
  const ofKind = [...catalog.models.values()].filter(({ type, auto }) => auto && type === needs.modelType);
  if (mode === 'all') return ofKind;
  const named = new Set(ids);
  return ofKind.filter(({ id }) => named.has(id) === (mode === 'only'));
}

/** The leads of all models that have one, in catalog order. */
export const allLeads = (context: AutoContext, demands: Demands): readonly Lead[] =>
  autoModels(context, demands).flatMap((model) => leadOf(model, demands, context.status) ?? []);

/** The leads that can win. Most other models are skipped without examining their routes. */
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
  // If the usual choice failed recently, a model that it dominated may replace it.
  return isComplete || usual === undefined || isSteady(usual) ? leads : allLeads(context, demands);
}

const isSteady = (lead: Lead): boolean => lead.now === lead.first && !lead.isPenalized;

/**
 * The stages at which models drop out, in the order of errors. The furthest stage that any model reached is the error.
 */
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
 * The type of the refusal for a model without a lead. Undefined if `only` names none of its routes. Other routes do not
 * count, so that the client learns why the named ones cannot serve.
 */
function refusedAs(model: Model, demands: Demands): (typeof stages)[number]['type'] | undefined {
  const { only } = demands.policy;
  const named = modelFacts(model).filter((facts) => only === undefined || isNamed(only, facts));
  const furthest = lastFailing(named, demands);
  if (furthest === -1) return undefined;
  const rule = eligibilityRules[furthest];
  return rule === undefined ? 'context_too_large' : typeOfRule[rule];
}

function refusalOf(context: AutoContext, demands: Demands): ReturnType<typeof refuse> {
  let furthest = -1;
  for (const model of autoModels(context, demands)) {
    // A model that is too expensive got no further than the price stage.
    if (furthest >= priceStage && isTooDear(model, demands)) continue;
    const type = refusedAs(model, demands);
    furthest = Math.max(
      furthest,
      stages.findIndex((stage) => stage.type === type),
    );
  }
  const stage = stages[furthest];
  if (stage === undefined) {
    return demands.policy.only === undefined
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
  return refuse(type, `${sentence} (${demands.policy.floor} or stronger). ${howToAllowWeaker(context, demands)}`);
}

/** Names the setting or the request field that demands the floor. */
function howToAllowWeaker({ preferences }: AutoContext, { policy }: Demands): string {
  const { floor, sort, floorCarriedBySort, statedMinimum } = policy;
  if (floorCarriedBySort) {
    return `Sorting by ${sort} asks for this. To allow anonymous providers, send \`provider.minimum_privacy: "anonymous"\`.`;
  }
  if (statedMinimum === floor) return 'The request asks for this: send a weaker `provider.minimum_privacy`.';
  if (boundaryClass[preferences.auto.tiers] === floor) {
    const weaker = floor === 'private' ? '`Standard`' : '`Private` or `Standard`';
    return `The workspace asks for this: set \`auto.tiers\` to ${weaker} in its routing preferences, or name a model instead of \`/auto\`.`;
  }
  return 'The workspace asks for this: lower `provider_minimum_privacy` in its routing preferences.';
}
