import type { Route } from '../catalog/catalog.ts';
import type { Needs } from '../plan/needs.ts';
import { nearestEffort } from './effort.ts';
import type { ChatParameter } from './parameter-names.ts';
import { usedParameters } from './used-parameters.ts';

/**
 * Whether a route takes a parameter. What a capability says of it decides; else the catalog's list, and a route
 * without a list takes everything.
 */
export function takes({ capabilities, supportedParameters }: Route, name: ChatParameter): boolean {
  const listed = supportedParameters?.has(name) ?? true;
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
 * The parameters of a request that have to give way on this route, because its provider refuses them beside another
 * that the request uses: of each exclusive list, every used one but the first.
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

/** What `require_parameters` finds lacking in a route: parameters that it would not get as the request sent them. */
export function lackedParameters(route: Route, needs: Needs): readonly string[] {
  const { reasoning, structuredOutput } = route.capabilities;
  const crowded = crowdedOut(route, needs);
  const lacked: string[] = usedParameters(needs).filter((name) => {
    if (crowded.has(name)) return true;
    if (name === 'reasoning_effort') return !reasoning?.efforts.includes(needs.reasoningEffort ?? '');
    // Who demands JSON wants proof of it: without a list, only a route that follows schemas gives any.
    if (name === 'response_format') return !(route.supportedParameters?.has(name) ?? structuredOutput);
    return !takes(route, name);
  });
  if (needs.reasoningDisabled && reasoning !== undefined && !reasoning.canDisable) lacked.push('reasoning.enabled');
  if (needs.reasoningEnabled && reasoning === undefined) lacked.push('reasoning.enabled');
  return lacked;
}

/**
 * The reasoning that a route is asked for: `off` where it can do without and the request wants that, else the level
 * nearest to the effort that was asked for. A route that cannot do without gets its lowest level instead. An effort that
 * is undefined is the provider's own, for a request that only asks it to think (`enabled`); no reasoning at all leaves
 * everything to the provider.
 */
export function reasoningOn(
  route: Route,
  needs: Needs,
  enabled = false,
): { readonly effort: string | undefined } | 'off' | undefined {
  const { reasoning } = route.capabilities;
  if (reasoning === undefined) return undefined;
  if (needs.reasoningDisabled && reasoning.canDisable) return 'off';
  const asked = needs.reasoningDisabled ? 'none' : needs.reasoningEffort;
  if (asked === undefined) return enabled ? { effort: undefined } : undefined;
  if (crowdedOut(route, needs).has('reasoning_effort')) return undefined;
  const effort = nearestEffort(asked, reasoning.efforts);
  return effort === undefined ? undefined : { effort };
}

/**
 * Whether an answer of this route may cost more than it shows before its usage arrives: reasoning that is billed and not
 * streamed, or images, whose tokens only the provider knows.
 */
export const hidesOutput = (route: Route, needs: Needs): boolean =>
  needs.vision || (route.capabilities.reasoning !== undefined && reasoningOn(route, needs) !== 'off');
