import type { Price } from '@sotto/money';
import { comparePrivacy } from '@sotto/wire';
import type { Model, Route } from '../catalog/catalog.ts';
import { matchesProvider } from '../catalog/provider-id.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import { accept, type Decision, type Refusal, refuse } from '../policy/refusal.ts';
import { holds, type Needs, offers } from './needs.ts';

/** One rule of eligibility: what it keeps, and what to say where it keeps nothing. */
interface Rule {
  readonly name: EligibilityRule;
  readonly keeps: (route: Route) => boolean;
  /** Why it left one route out, in a sentence for people. */
  readonly why: (route: Route) => string;
  readonly refusal: (model: Model) => Refusal;
}

export type EligibilityRule = 'boundary' | 'encryption' | 'floor' | 'only' | 'ignore' | 'capability' | 'price';

const refusalOf = (type: Refusal['type'], message: string, param?: string): Refusal =>
  refuse(type, message, param).refusal;

/** The rules in the order in which they are judged, which is the order of their errors (design 6). */
function rulesOf(policy: MergedPolicy, needs: Needs): readonly Rule[] {
  const { only, ignore, maxPrice } = policy;
  const listed = (entries: readonly string[], route: Route): boolean =>
    entries.some((entry) => matchesProvider(entry, route.publicProviderId));
  const isEncrypted = (route: Route): boolean => route.privacyClass === 'e2ee';
  const encryptionRefusal = ({ id }: Model): Refusal =>
    refusalOf(
      'no_provider_route_meets_privacy',
      needs.encrypted
        ? `No provider of ${id} takes end-to-end-encrypted requests.`
        : `${id} is served only to end-to-end-encrypted requests here; a plaintext request is never sent to them.`,
    );
  return [
    {
      name: 'boundary',
      keeps: (route) => comparePrivacy(route.privacyClass, policy.boundary) >= 0,
      why: ({ privacyClass }) =>
        `It is \`${privacyClass}\`; the privacy boundary of the workspace allows \`${policy.boundary}\` or stronger.`,
      refusal: ({ id }) =>
        refusalOf(
          'privacy_boundary_not_met',
          `No provider of ${id} meets the workspace privacy boundary (${policy.boundary} or stronger).`,
        ),
    },
    {
      name: 'encryption',
      keeps: (route) => isEncrypted(route) === needs.encrypted,
      why: () =>
        needs.encrypted
          ? 'It does not take end-to-end-encrypted requests.'
          : 'It serves end-to-end-encrypted requests only; a plaintext request is never sent to it.',
      refusal: encryptionRefusal,
    },
    {
      name: 'floor',
      keeps: (route) => comparePrivacy(route.privacyClass, policy.floor) >= 0,
      why: ({ privacyClass }) =>
        policy.floorCarriedBySort
          ? `It is \`${privacyClass}\`; sorting by ${policy.sort} uses \`private\` or stronger unless \`minimum_privacy\` says otherwise.`
          : `It is \`${privacyClass}\`; the privacy floor of this request is \`${policy.floor}\`.`,
      refusal: ({ id }) =>
        refusalOf(
          'no_provider_route_meets_privacy',
          policy.floorCarriedBySort
            ? `No provider of ${id} is private or stronger, which sorting by ${policy.sort} asks for. ` +
                'To allow anonymous providers, send `provider.minimum_privacy: "anonymous"`.'
            : `No provider of ${id} meets the privacy floor (${policy.floor} or stronger).`,
        ),
    },
    {
      name: 'only',
      keeps: (route) => only === undefined || listed(only, route),
      why: () => 'It is not named in `provider.only`, or is not the provider that the request is pinned to.',
      // A plaintext body pinned to an encrypted provider is refused for its privacy (design 6, "e2ee when minting").
      refusal: (model) =>
        !needs.encrypted &&
        model.routes.some((route) => isEncrypted(route) && only !== undefined && listed(only, route))
          ? encryptionRefusal(model)
          : refusalOf(
              'no_provider_route',
              `No eligible provider of ${model.id} is named in \`provider.only\`.`,
              'provider',
            ),
    },
    {
      name: 'ignore',
      keeps: (route) => !listed(ignore, route),
      why: () => 'It is ignored by the request, or disabled in the workspace.',
      refusal: ({ id }) =>
        refusalOf(
          'no_provider_route',
          `Every eligible provider of ${id} is ignored by the request or disabled in the workspace.`,
          'provider',
        ),
    },
    {
      name: 'capability',
      keeps: (route) => offers(route, needs, policy.requireParameters),
      why: () => `It does not support all that the request needs: ${needed(needs, policy)}.`,
      refusal: ({ id }) =>
        refusalOf(
          'no_provider_route',
          `No eligible provider of ${id} supports what the request needs: ${needed(needs, policy)}.`,
        ),
    },
    {
      name: 'price',
      keeps: ({ price }) => {
        const { input, output } = dearestPrices(price, needs.promptTokens);
        return input <= maxPrice.input && output <= maxPrice.output;
      },
      why: () => 'It costs more than the price ceiling of the request or of the workspace.',
      refusal: ({ id }) =>
        refusalOf(
          'no_provider_route_meets_price',
          `No eligible provider of ${id} is within the price ceiling.`,
          'provider.max_price',
        ),
    },
  ];
}

/** The dearest prices that a prompt of up to this size meets: a tier above the ceiling is above the ceiling. */
function dearestPrices(price: Price, promptTokens: number): { input: number; output: number } {
  let { input, output } = price;
  for (const tier of price.tiers ?? []) {
    if (promptTokens <= tier.abovePromptTokens) break;
    input = Math.max(input, tier.input ?? 0);
    output = Math.max(output, tier.output ?? 0);
  }
  return { input, output };
}

/** The first rule that leaves a route out, with its reason; undefined where every rule keeps it. */
export function exclusionOf(
  route: Route,
  policy: MergedPolicy,
  needs: Needs,
): { readonly rule: EligibilityRule; readonly message: string } | undefined {
  const rule = rulesOf(policy, needs).find(({ keeps }) => !keeps(route));
  return rule === undefined ? undefined : { rule: rule.name, message: rule.why(route) };
}

/** The routes of a model that a request may use, before context windows: or the first rule that left none. */
export function eligibleRoutes(model: Model, policy: MergedPolicy, needs: Needs): Decision<readonly Route[]> {
  if (model.routes.length === 0) return refuse('model_not_found', `The model ${model.id} is not enabled.`, 'model');
  let routes: readonly Route[] = model.routes;
  for (const rule of rulesOf(policy, needs)) {
    const kept = routes.filter(rule.keeps);
    if (kept.length === 0) return { ok: false, refusal: rule.refusal(model) };
    routes = kept;
  }
  return accept(routes);
}

/**
 * Of the eligible routes, those whose context window holds the request. With `withinTier`, a model whose strongest
 * tier holds it nowhere is refused rather than served by a weaker tier (interface 3.4, step 3).
 */
export function routesThatHold(
  model: Model,
  routes: readonly Route[],
  needs: Needs,
  withinTier: boolean,
): Decision<readonly Route[]> {
  const fitting = routes.filter((route) => holds(route, needs));
  const judged = withinTier
    ? fitting.filter((route) => comparePrivacy(route.privacyClass, strongestOf(routes)) === 0)
    : fitting;
  if (judged.length > 0) return accept(fitting);
  const tier = withinTier ? ` at the tier \`${strongestOf(routes)}\`` : '';
  const asked = `about ${needs.promptTokens} prompt tokens plus ${needs.maxOutputTokens ?? 1} of output`;
  return refuse('context_too_large', `No eligible provider of ${model.id}${tier} holds ${asked}.`);
}

function strongestOf(routes: readonly Route[]): Route['privacyClass'] {
  return routes.reduce<Route['privacyClass']>(
    (best, route) => (comparePrivacy(route.privacyClass, best) > 0 ? route.privacyClass : best),
    'anonymous',
  );
}

function needed(needs: Needs, policy: MergedPolicy): string {
  const names = [
    needs.tools && 'tools',
    needs.vision && 'image input',
    needs.structuredOutput && 'structured output',
    policy.requireParameters && needs.jsonObject && 'JSON output',
    policy.requireParameters && needs.reasoningEffort !== undefined && 'the reasoning effort',
    policy.requireParameters && needs.reasoningDisabled && 'switching reasoning off',
  ].filter((name) => name !== false);
  return names.join(', ');
}
