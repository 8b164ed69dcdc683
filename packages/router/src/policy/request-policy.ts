import type { ModelSuffix, Preferences, ProviderPolicy, ProviderPolicyObject, RequestSort } from '@sotto/wire';
import { matchesProvider } from '../catalog/provider-id.ts';
import { accept, type Decision, refuse } from './refusal.ts';

/** A request's own policy, in one form for every way to write it. */
export interface RequestPolicy extends ProviderPolicyObject {
  /** True if the request sent no provider settings. Then the workspace's sort applies. */
  readonly unset: boolean;
  /** The sort that `:nitro` or `:floor` requests. */
  readonly suffixSort?: RequestSort;
}

const suffixSorts = { nitro: 'throughput', floor: 'price' } as const;

/**
 * Brings the request field `provider` into one form and refuses a policy that contradicts itself. A pin `X` is `{only:
 * [X], allow_fallbacks: false}`. An absent field equals `{}`.
 */
export function readRequestPolicy(
  provider: ProviderPolicy | null | undefined,
  suffix?: ModelSuffix,
): Decision<RequestPolicy> {
  const policy = policyObject(provider);
  const conflict = findConflict(policy);
  if (conflict !== undefined) return conflict;
  const suffixSort = suffix === undefined ? undefined : suffixSorts[suffix];
  if (suffixSort !== undefined && policy.sort !== undefined && policy.sort !== suffixSort) {
    const message = `The suffix \`:${suffix}\` sorts by ${suffixSort}, but \`provider.sort\` is \`${policy.sort}\`.`;
    return refuse('provider_policy_conflict', message, 'provider.sort');
  }
  return accept({ ...policy, unset: isUnset(policy), ...(suffixSort === undefined ? {} : { suffixSort }) });
}

/**
 * A policy as text. Two policies have equal text if they demand the same, so a client may write out what another leaves
 * to its default. A ticket is bound to this text. The order of `only` and `ignore` has no meaning; that of `order` does.
 */
export function canonicalPolicy(provider: ProviderPolicy | null | undefined): string {
  const policy = policyObject(provider);
  const unordered = (ids: readonly string[] | undefined): string[] | undefined =>
    ids === undefined || ids.length === 0 ? undefined : [...new Set(ids)].sort();
  const isOwn = !isUnset(policy);
  const fallsBack = policy.allow_fallbacks ?? true;
  return JSON.stringify([
    // `{order: []}` demands nothing, yet it sorts by privacy; `{}` sorts as the workspace does.
    isOwn ? (policy.sort ?? 'privacy') : null,
    policy.order === undefined || policy.order.length === 0 ? null : policy.order,
    unordered(policy.only) ?? null,
    unordered(policy.ignore) ?? null,
    fallsBack ? (policy.max_attempts ?? mostAttempts) : 1,
    policy.minimum_privacy ?? null,
    [policy.max_price?.input ?? null, policy.max_price?.output ?? null],
    policy.require_parameters ?? false,
  ]);
}

/** The most providers that one request may try. */
const mostAttempts = 3;

/** Whether a request names exactly one provider that may serve it, in either notation. */
function isPin(provider: ProviderPolicy | null | undefined): boolean {
  const { only, allow_fallbacks } = policyObject(provider);
  return only?.length === 1 && allow_fallbacks === false;
}

/** Whether a request demands end-to-end encryption: by a pin, by its floor, or by its workspace's floor. */
export const asksForE2ee = (
  provider: ProviderPolicy | null | undefined,
  { provider_minimum_privacy: minimum }: Pick<Preferences, 'provider_minimum_privacy'>,
): boolean =>
  isPin(provider) || minimum === 'e2ee' || (typeof provider === 'object' && provider?.minimum_privacy === 'e2ee');

/** The request field `provider` as an object. */
export const policyObject = (provider: ProviderPolicy | null | undefined): ProviderPolicyObject =>
  typeof provider === 'string' ? { only: [provider], allow_fallbacks: false } : (provider ?? {});

const isUnset = (policy: ProviderPolicyObject): boolean => Object.values(policy).every((value) => value === undefined);

function findConflict(policy: ProviderPolicyObject): ReturnType<typeof refuse> | undefined {
  const { only, ignore = [], order = [] } = policy;
  const ignored = (id: string): string | undefined => ignore.find((entry) => matchesProvider(entry, id));
  for (const id of only ?? []) {
    if (ignored(id) !== undefined) {
      const message = `Provider \`${id}\` is in \`only\` and removed by \`ignore\`. Take it out of one of them.`;
      return refuse('provider_policy_conflict', message, 'provider.ignore');
    }
  }
  for (const id of order) {
    if (ignored(id) !== undefined) {
      const message = `Provider \`${id}\` is in \`order\` and removed by \`ignore\`. Take it out of one of them.`;
      return refuse('provider_policy_conflict', message, 'provider.order');
    }
    if (only !== undefined && !only.some((entry) => matchesProvider(entry, id) || matchesProvider(id, entry))) {
      const message = `Provider \`${id}\` is in \`order\` but not in \`only\`. Add it to \`only\`, or take it out.`;
      return refuse('provider_policy_conflict', message, 'provider.order');
    }
  }
  return undefined;
}
