import type { Price } from '@sotto/money';
import type { Model, Route } from '../catalog/catalog.ts';
import { lackedParameters } from '../parameters/route-parameters.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import { accept, type Decision, type Refusal, refuse } from '../policy/refusal.ts';
import type { Demands } from './demands.ts';
import { holds, isOwnLevel, knowsEffort, type Needs } from './needs.ts';
import { modelFacts, type RouteFacts, strengthOf } from './route-facts.ts';

/** The rules in the order in which they are checked. Errors follow the same order. */
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

/** The result of `firstFailing` for a route that passes every rule: the number after the last rule. */
export const passesAll: number = eligibilityRules.length;

const e2ee = strengthOf('e2ee');

/** The first rule that excludes a route, as an index of `eligibilityRules`; `passesAll` if every rule keeps it. */
export function firstFailing(facts: RouteFacts, { policy, needs, boundary, floor, offers }: Demands): number {
  const { only, ignore, allow, maxPrice } = policy;
  if (facts.strength < boundary) return 0;
  if ((facts.strength === e2ee) !== needs.encrypted) return 1;
  if (facts.strength < floor) return 2;
  if (only !== undefined && !isNamed(only, facts)) return 3;
  if (isNamed(ignore, facts) || allow?.includes(facts.provider) === false) return 4;
  if ((facts.offers & offers) !== offers || !knowsEffort(facts.route, needs)) return 5;
  if (policy.requireParameters && lackedParameters(facts.route, needs).length > 0) return 6;
  if (facts.input > maxPrice.input || facts.output > maxPrice.output) return 7;
  return facts.hasTiers && !areTiersWithin(facts.route.price, maxPrice, needs) ? 7 : passesAll;
}

/** Whether one of these policy entries names the provider of a route. A faster `matchesProvider`. */
export function isNamed(entries: readonly string[], { provider, baseProvider }: RouteFacts): boolean {
  for (const entry of entries) if (entry === provider || entry === baseProvider) return true;
  return false;
}

/** The price tiers that a prompt of this size reaches must be within the ceiling too. */
function areTiersWithin({ tiers = [] }: Price, most: MergedPolicy['maxPrice'], { promptTokens }: Needs): boolean {
  for (const tier of tiers) {
    if (promptTokens <= tier.abovePromptTokens) break;
    if ((tier.input ?? 0) > most.input || (tier.output ?? 0) > most.output) return false;
  }
  return true;
}

/** The routes that every rule keeps, in their order. */
export function keptBy<Facts extends RouteFacts>(demands: Demands, routes: readonly Facts[]): readonly Facts[] {
  const kept: Facts[] = [];
  for (const route of routes) if (firstFailing(route, demands) === passesAll) kept.push(route);
  return kept;
}

/**
 * The routes of a model that a request may use, before context windows are checked. If none is left, the refusal of the
 * rule that excluded the last.
 */
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

/** The rule that excluded the last route of a model without an eligible one. -1 if it has no route at all. */
export function lastFailing(routes: readonly RouteFacts[], demands: Demands): number {
  let furthest = -1;
  for (const route of routes) furthest = Math.max(furthest, firstFailing(route, demands));
  return furthest;
}

/** The first rule that excludes a route, with its reason. Undefined if every rule keeps it. */
export function exclusionOf(
  facts: RouteFacts,
  demands: Demands,
): { readonly rule: EligibilityRule; readonly message: string } | undefined {
  const rule = eligibilityRules[firstFailing(facts, demands)];
  return rule === undefined ? undefined : { rule, message: reasons[rule](facts.route, demands) };
}

/** Why a rule excluded one route, as a sentence for people. */
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

/** The refusal if a rule keeps no route of a model. */
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
    refusalOf(
      'no_provider_route',
      `No eligible provider of ${id} supports what the request needs: ${needed(needs)}. ` +
        'The operator states this in the catalog, in `capabilities` of a route.',
    ),
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

/**
 * Explains why the model's provider that the request names cannot serve it. If the request names several, the first in
 * the registry.
 */
function whyNotTheNamed(model: Model, demands: Demands): string {
  const { only = [] } = demands.policy;
  const [named] = modelFacts(model)
    .filter((facts) => isNamed(only, facts))
    .sort((one, other) => one.route.rank - other.route.rank);
  const left = named && exclusionOf(named, demands);
  return left === undefined ? '' : ` \`${named?.route.publicProviderId}\`: ${left.message}`;
}

/** Whether a plaintext body names only an encrypted provider. The refusal then concerns privacy. */
function isPinnedToEncryption(model: Model, { policy, needs }: Demands): boolean {
  const { only } = policy;
  if (needs.encrypted || only === undefined) return false;
  return modelFacts(model).some((facts) => facts.strength === e2ee && isNamed(only, facts));
}

/**
 * The eligible routes whose context window holds the request. A sort by tier refuses rather than move below the tier
 * from which it starts, `startsFrom`. Other sorts use any route that holds it.
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
  // Clients recognise a context overflow by "This model's maximum context length is N tokens", and shorten the conversation to this
  // length. So the window of a route that does not allow the output must not count.
  const windows = considered
    .filter(({ maxOutputTokens = Number.POSITIVE_INFINITY }) => (needs.maxOutputTokens ?? 1) <= maxOutputTokens)
    .map((route) => route.contextLength ?? Number.POSITIVE_INFINITY);
  const largest = Math.max(...windows);
  const asked = `about ${needs.promptTokens} prompt tokens plus ${needs.maxOutputTokens ?? 1} of output`;
  return refuse(
    'context_too_large',
    `This model's maximum context length is ${largest} tokens at eligible providers of ${model.id}${tier}. The request has ${asked}.`,
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
