import { comparePrivacy, type PrivacyClass, type ProviderPolicyObject, providerPolicySchema } from '@sotto/wire';
import type { Served } from './conversations.ts';
import type { RoutingFacts } from './routing-facts.ts';

export interface KeptPolicyInput {
  /** The field `provider` of the request. */
  readonly provider: unknown;
  readonly needsTools: boolean;
  readonly served: Served;
  readonly facts: RoutingFacts;
  /** The model's id. */
  readonly model: string;
}

/**
 * Returns the policy that keeps a conversation with the provider that served it, or undefined if the request stays as it is.
 *
 * `order` alone would do more than that: the named provider would go ahead of more private ones, and the sort would become
 * `privacy`. So the order only chooses among the providers of the strongest class that the request may reach. The policy
 * names this class as its floor, and the sort that is in effect. The workspace's sort `default` cannot be requested;
 * `privacy` orders the fallbacks instead, which the floor leaves in one class.
 */
export function keptPolicy({
  provider,
  needsTools,
  served,
  facts,
  model,
}: KeptPolicyInput): ProviderPolicyObject | undefined {
  const own = ownPolicy(provider);
  const { preferences } = facts;
  if (own === undefined || !preferences.provider_allow_fallbacks || preferences.provider_max_attempts === 1) {
    return undefined;
  }
  const ignored = [...(own.ignore ?? []), ...preferences.provider_ignore];
  const reachable = (facts.routesOf(model) ?? []).filter(
    (route) =>
      route.privacyClass !== 'e2ee' &&
      (!needsTools || route.hasTools) &&
      !ignored.some((id) => names(id, route.provider)),
  );
  const strongest = reachable.reduce<PrivacyClass>(
    (best, { privacyClass }) => (comparePrivacy(privacyClass, best) > 0 ? privacyClass : best),
    'anonymous',
  );
  const equals = reachable.filter(({ privacyClass }) => privacyClass === strongest);
  const kept = equals.filter((route) => names(served.provider, route.provider));
  // With one provider there is nothing to choose, and with none but its variants nothing to fall back to.
  if (served.privacyClass !== strongest || kept.length === 0 || kept.length === equals.length) {
    return undefined;
  }
  const inEffect = preferences.provider_sort === 'default' ? 'privacy' : preferences.provider_sort;
  const sort = Object.keys(own).length === 0 ? inEffect : 'privacy';
  // An earlier turn may have asked for less. A sort by anything but privacy implies the floor `private` until one is named.
  const floor = own.minimum_privacy ?? (sort === 'privacy' ? 'anonymous' : 'private');
  if (comparePrivacy(strongest, floor) < 0) return undefined;
  return { ...own, order: [served.provider], sort, minimum_privacy: strongest };
}

/** The policy of a request that leaves the choice of the provider open. Undefined if it chooses one, or how to choose. */
function ownPolicy(provider: unknown): ProviderPolicyObject | undefined {
  const parsed = providerPolicySchema.nullish().safeParse(provider);
  if (!parsed.success || typeof parsed.data === 'string') return undefined;
  const policy = parsed.data ?? {};
  const { order, only, sort, allow_fallbacks, max_attempts, minimum_privacy } = policy;
  const isChosen = order !== undefined || only !== undefined || sort !== undefined || minimum_privacy === 'e2ee';
  return isChosen || allow_fallbacks === false || max_attempts === 1 ? undefined : policy;
}

/** `acme` also names its variants, such as `acme/eu`. */
const names = (named: string, provider: string): boolean => named === provider || provider.startsWith(`${named}/`);
