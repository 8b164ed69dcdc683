import type { Price } from '@sotto/money';
import type { Model, Route } from '../catalog/catalog.ts';
import { lackedParameters } from '../parameters/route-parameters.ts';
import { accept, type Decision, type Refusal, refuse } from '../policy/refusal.ts';
import type { Demands } from './demands.ts';
import { holds, isOwnLevel, knowsEffort, type Needs } from './needs.ts';
import { modelFacts, type RouteFacts, strengthOf } from './route-facts.ts';

/** The rules in the order in which they are judged, which is the order of their errors (design 6). */
export const eligibilityRules = [
  'boundary',
  'encryption',
  'floor',
  'only',
  'ignore',
  'capability',
  'parameters',
  'price',
] as const;
export type EligibilityRule = (typeof eligibilityRules)[number];

/** What `firstFailing` says of a route that every rule keeps: it comes after the last rule. */
export const passesAll: number = eligibilityRules.length;

const e2ee = strengthOf('e2ee');

/** The first rule that leaves a route out, as its place in `eligibilityRules`; `passesAll` where each keeps it. */
export function firstFailing(facts: RouteFacts, demands: Demands): number {
  if (facts.strength < demands.boundary) return 0;
  if ((facts.strength === e2ee) !== demands.encrypted) return 1;
  if (facts.strength < demands.floor) return 2;
  if (demands.only !== undefined && !isNamed(demands.only, facts)) return 3;
  if (isNamed(demands.ignore, facts) || demands.allow?.includes(facts.provider) === false) return 4;
  if ((facts.offers & demands.offers) !== demands.offers || !knowsEffort(facts.route, demands.needs)) return 5;
  if (demands.strictly && lackedParameters(facts.route, demands.needs).length > 0) return 6;
  if (facts.input > demands.maxInput || facts.output > demands.maxOutput) return 7;
  return facts.hasTiers && !areTiersWithin(facts.route.price, demands) ? 7 : passesAll;
}

/** Whether one of these entries of a policy names the provider of a route: `matchesProvider`, made quick. */
export function isNamed(entries: readonly string[], { provider, baseProvider }: RouteFacts): boolean {
  for (const entry of entries) if (entry === provider || entry === baseProvider) return true;
  return false;
}

/** A price tier that a prompt of this size meets counts with its prices: a tier above the ceiling is above the ceiling. */
function areTiersWithin({ tiers = [] }: Price, { needs, maxInput, maxOutput }: Demands): boolean {
  for (const tier of tiers) {
    if (needs.promptTokens <= tier.abovePromptTokens) break;
    if ((tier.input ?? 0) > maxInput || (tier.output ?? 0) > maxOutput) return false;
  }
  return true;
}

/** Of a model's routes, those that every rule keeps, in their order. */
export function keptBy<Facts extends RouteFacts>(demands: Demands, routes: readonly Facts[]): readonly Facts[] {
  const kept: Facts[] = [];
  for (const route of routes) if (firstFailing(route, demands) === passesAll) kept.push(route);
  return kept;
}

/** The routes of a model that a request may use, before context windows: or the refusal of the rule that left none. */
export function eligibleRoutes<Facts extends RouteFacts>(
  model: Model,
  routes: readonly Facts[],
  demands: Demands,
): Decision<readonly Facts[]> {
  const kept = keptBy(demands, routes);
  if (kept.length > 0) return accept(kept);
  const rule = eligibilityRules[lastFailing(routes, demands)];
  if (rule === undefined) return refuse('model_not_found', `The model ${model.id} is not enabled.`, 'model');
  return { ok: false, refusal: refusals[rule](model, demands) };
}

/** The rule at which a model without an eligible route lost its last one; -1 where it has no route at all. */
export function lastFailing(routes: readonly RouteFacts[], demands: Demands): number {
  let furthest = -1;
  for (const route of routes) furthest = Math.max(furthest, firstFailing(route, demands));
  return furthest;
}

/** The first rule that leaves a route out, with its reason; undefined where every rule keeps it. */
export function exclusionOf(
  facts: RouteFacts,
  demands: Demands,
): { readonly rule: EligibilityRule; readonly message: string } | undefined {
  const rule = eligibilityRules[firstFailing(facts, demands)];
  return rule === undefined ? undefined : { rule, message: reasons[rule](facts.route, demands) };
}

/** Why a rule left one route out, in a sentence for people. */
const reasons: Readonly<Record<EligibilityRule, (route: Route, demands: Demands) => string>> = {
  boundary: ({ privacyClass }, { policy }) =>
    `It is \`${privacyClass}\`; the privacy boundary of the workspace allows \`${policy.boundary}\` or stronger.`,
  encryption: (_, { needs }) =>
    needs.encrypted
      ? 'It does not take end-to-end-encrypted requests.'
      : 'It serves end-to-end-encrypted requests only; a plaintext request is never sent to it.',
  floor: ({ privacyClass }, { policy }) =>
    policy.floorCarriedBySort
      ? `It is \`${privacyClass}\`; sorting by ${policy.sort} uses \`private\` or stronger unless \`minimum_privacy\` says otherwise.`
      : `It is \`${privacyClass}\`; the privacy floor of this request is \`${policy.floor}\`.`,
  only: () => 'It is not named in `provider.only`, or is not the provider that the request is pinned to.',
  ignore: () => 'It is ignored by the request, or disabled in the workspace.',
  capability: (_, { needs }) => `It does not support all that the request needs: ${needed(needs)}.`,
  parameters: (route, { needs }) =>
    `\`require_parameters\` asks for every parameter of the request, and it lacks: ${quoted(lackedParameters(route, needs))}.`,
  price: () => 'It costs more than the price ceiling of the request or of the workspace.',
};

const refusalOf = (type: Refusal['type'], message: string, param?: string): Refusal =>
  refuse(type, message, param).refusal;

const encryptionRefusal = ({ id }: Model, { needs }: Demands): Refusal =>
  refusalOf(
    'no_provider_route_meets_privacy',
    needs.encrypted
      ? `No provider of ${id} takes end-to-end-encrypted requests.`
      : `${id} is served only to end-to-end-encrypted requests here; a plaintext request is never sent to them.`,
  );

/** What to say where a rule keeps no route of a model. */
const refusals: Readonly<Record<EligibilityRule, (model: Model, demands: Demands) => Refusal>> = {
  boundary: ({ id }, { policy }) =>
    refusalOf(
      'privacy_boundary_not_met',
      `No provider of ${id} meets the workspace privacy boundary (${policy.boundary} or stronger).`,
    ),
  encryption: encryptionRefusal,
  floor: ({ id }, { policy }) =>
    refusalOf(
      'no_provider_route_meets_privacy',
      policy.floorCarriedBySort
        ? `No provider of ${id} is private or stronger, which sorting by ${policy.sort} asks for. ` +
            'To allow anonymous providers, send `provider.minimum_privacy: "anonymous"`.'
        : `No provider of ${id} meets the privacy floor (${policy.floor} or stronger).`,
    ),
  only: (model, demands) =>
    isPinnedToEncryption(model, demands)
      ? encryptionRefusal(model, demands)
      : refusalOf(
          'no_provider_route',
          `No eligible provider of ${model.id} is named in \`provider.only\`.${whyNotTheNamed(model, demands)}`,
          'provider',
        ),
  ignore: ({ id }) =>
    refusalOf(
      'no_provider_route',
      `Every eligible provider of ${id} is ignored by the request or disabled in the workspace.`,
      'provider',
    ),
  capability: ({ id }, { needs }) =>
    refusalOf('no_provider_route', `No eligible provider of ${id} supports what the request needs: ${needed(needs)}.`),
  parameters: ({ id, routes }, { needs }) =>
    refusalOf(
      'no_provider_route',
      `No eligible provider of ${id} supports every parameter of the request, which \`require_parameters\` asks for. ` +
        `Lacked by one or another: ${quoted(new Set(routes.flatMap((route) => lackedParameters(route, needs))))}.`,
      'provider.require_parameters',
    ),
  price: ({ id }) =>
    refusalOf(
      'no_provider_route_meets_price',
      `No eligible provider of ${id} is within the price ceiling.`,
      'provider.max_price',
    ),
};

/** What keeps a provider that the request names, the first in the registry, from serving it, where the model has one. */
function whyNotTheNamed(model: Model, demands: Demands): string {
  const { only = [] } = demands.policy;
  const [named] = modelFacts(model)
    .filter((facts) => isNamed(only, facts))
    .sort((one, other) => one.route.rank - other.route.rank);
  const left = named && exclusionOf(named, demands);
  return left === undefined ? '' : ` \`${named?.route.publicProviderId}\`: ${left.message}`;
}

/** A plaintext body pinned to an encrypted provider is refused for its privacy (design 6, "e2ee when minting"). */
export function isPinnedToEncryption(model: Model, { policy, needs }: Demands): boolean {
  const { only } = policy;
  if (needs.encrypted || only === undefined) return false;
  return modelFacts(model).some((facts) => facts.strength === e2ee && isNamed(only, facts));
}

/**
 * Of the eligible routes, those whose context window holds the request. A sort that goes by tier rather refuses than
 * moves below the tier from which it starts, `startsFrom` (interface 3.4, step 3); others take whichever holds it.
 */
export function routesThatHold<Facts extends RouteFacts>(
  model: Model,
  routes: readonly Facts[],
  needs: Needs,
  startsFrom: Route['privacyClass'] | undefined,
): Decision<readonly Facts[]> {
  const fitting = routes.filter(({ route }) => holds(route, needs));
  const least = startsFrom === undefined ? 0 : strengthOf(startsFrom);
  if (fitting.some(({ strength }) => strength >= least)) return accept(fitting);
  const considered = routes.filter(({ strength }) => strength >= least).map(({ route }) => route);
  const tier = startsFrom === undefined ? '' : ` at the tier \`${startsFrom}\``;
  const largestOutput = Math.max(...considered.map((route) => route.maxOutputTokens ?? Number.POSITIVE_INFINITY));
  if (needs.maxOutputTokens !== undefined && needs.maxOutputTokens > largestOutput) {
    const most = `eligible providers of ${model.id}${tier} allow at most ${largestOutput}`;
    return refuse('context_too_large', `\`max_tokens\` is ${needs.maxOutputTokens}; ${most}.`, 'max_tokens');
  }
  // Agents recognise a context overflow by these words, and shorten the conversation.
  const largest = Math.max(...considered.map((route) => route.contextLength ?? Number.POSITIVE_INFINITY));
  const asked = `about ${needs.promptTokens} prompt tokens plus ${needs.maxOutputTokens ?? 1} of output`;
  return refuse(
    'context_too_large',
    `The request has ${asked}; the maximum context length is ${largest} tokens at eligible providers of ${model.id}${tier}.`,
  );
}

const quoted = (names: Iterable<string>): string =>
  [...names]
    .sort()
    .map((name) => `\`${name}\``)
    .join(', ');

function needed(needs: Needs): string {
  const names = [
    needs.tools && 'tools',
    needs.vision && 'image input',
    needs.structuredOutput && 'structured output',
    isOwnLevel(needs.reasoningEffort) && `the reasoning effort \`${needs.reasoningEffort}\``,
  ].filter((name) => name !== false);
  return names.join(', ');
}
