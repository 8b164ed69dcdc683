import type { Route } from '../catalog/catalog.ts';
import type { Needs } from '../plan/needs.ts';
import { nearestEffort } from './effort.ts';
import type { ChatParameter } from './parameter-names.ts';
import { usedParameters } from './used-parameters.ts';

/**
 * Whether a route accepts a parameter. A capability decides if there is one for the parameter, otherwise the catalog's
 * list. A route without a list accepts everything that its provider's API has.
 */
export function takes({ capabilities, supportedParameters, missingParameters }: Route, name: ChatParameter): boolean {
  const listed = !missingParameters.has(name) && (supportedParameters?.has(name) ?? true);
  switch (name) {
    case 'tools':
      return capabilities.tools;
    case 'tool_choice':
    case 'parallel_tool_calls':
      return capabilities.tools && listed;
    case 'structured_outputs':
      return capabilities.structuredOutput;
    case 'reasoning_effort':
      return (capabilities.reasoning?.efforts.length ?? 0) > 0;
    default:
      return listed;
  }
}

/**
 * The parameters of a request that this route must omit, because its provider refuses them beside another parameter.
 * From each exclusive list, every used parameter except the first is omitted.
 */
export function crowdedOut({ exclusiveParameters }: Route, needs: Needs): ReadonlySet<ChatParameter> {
  const out = new Set<ChatParameter>();
  if (exclusiveParameters.length === 0) return out;
  const used = usedParameters(needs);
  for (const list of exclusiveParameters) {
    for (const name of list.filter((each) => used.includes(each) && !out.has(each)).slice(1)) out.add(name);
  }
  return out;
}

/**
 * The parameters that make `require_parameters` exclude a route, because the provider would not get them as the request
 * sent them.
 */
export function lackedParameters(route: Route, needs: Needs): readonly string[] {
  const { reasoning, structuredOutput } = route.capabilities;
  const crowded = crowdedOut(route, needs);
  const lacked: string[] = usedParameters(needs).filter((name) => {
    if (crowded.has(name)) return true;
    if (name === 'reasoning_effort') return !reasoning?.efforts.includes(needs.reasoningEffort ?? '');
    // A client that requires JSON needs certainty. Without a list, only a route with structured outputs gives that.
    if (name === 'response_format') return !(route.supportedParameters?.has(name) ?? structuredOutput);
    return !takes(route, name);
  });
  if (needs.reasoningDisabled && reasoning !== undefined && !reasoning.canDisable) lacked.push('reasoning.enabled');
  if (needs.reasoningEnabled && reasoning === undefined) lacked.push('reasoning.enabled');
  return lacked;
}

/**
 * Whether the request uses a parameter that the provider refuses beside any reasoning. Without an effort, the provider
 * would use the model's default effort and refuse the request all the same.
 */
const excludesReasoning = ({ exclusiveParameters }: Route, needs: Needs): boolean => {
  const used = usedParameters(needs);
  return exclusiveParameters.some((list) => {
    const place = list.indexOf('reasoning_effort');
    return list.slice(0, Math.max(place, 0)).some((name) => used.includes(name));
  });
};

/**
 * The reasoning to request from a route. `off` if the request wants that and the route allows it, or uses a parameter
 * that excludes reasoning. Otherwise the level nearest to the effort. A route that cannot turn reasoning off gets its
 * lowest level.
 * An undefined effort means the provider's default, for a request that only enables reasoning. Undefined leaves
 * everything to the provider.
 */
export function reasoningOn(route: Route, needs: Needs): { readonly effort: string | undefined } | 'off' | undefined {
  const { reasoning } = route.capabilities;
  if (reasoning === undefined) return undefined;
  if (reasoning.canDisable && (needs.reasoningDisabled || excludesReasoning(route, needs))) return 'off';
  const asked = needs.reasoningDisabled ? 'none' : needs.reasoningEffort;
  if (asked === undefined) return needs.reasoningEnabled ? { effort: undefined } : undefined;
  if (crowdedOut(route, needs).has('reasoning_effort')) return undefined;
  const effort = nearestEffort(asked, reasoning.efforts);
  return effort === undefined ? undefined : { effort };
}

/** Whether an answer may have more output than it shows: reasoning that is billed but not streamed. */
export const hidesOutput = (route: Route, needs: Needs): boolean =>
  route.capabilities.reasoning !== undefined && reasoningOn(route, needs) !== 'off';
