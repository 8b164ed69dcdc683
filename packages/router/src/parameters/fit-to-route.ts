import type { ChatRequest } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import type { Needs } from '../plan/needs.ts';
import { type ChatParameter, type RangedParameter, rangedParameters } from './parameter-names.ts';
import { crowdedOut, takes } from './route-parameters.ts';

/** Parameters that each consist of one field, which can be omitted alone. */
const plainParameters = [
  ...rangedParameters,
  'repetition_penalty',
  'top_k',
  'min_p',
  'stop',
  'seed',
  'tool_choice',
  'parallel_tool_calls',
] as const satisfies readonly ChatParameter[];

/**
 * Fits a chat request to one route: removes parameters that its provider would refuse and moves numbers into its ranges
 * (docs/use/parameters.md). Does not change the reasoning selection: `reasoningOn` decides that.
 */
export function fitToRoute(request: ChatRequest, needs: Needs, route: Route): ChatRequest {
  const crowded = crowdedOut(route, needs);
  const kept = (name: ChatParameter): boolean => takes(route, name) && !crowded.has(name);
  const changes: Partial<ChatRequest> = {};
  for (const name of plainParameters) if (request[name] != null && !kept(name)) changes[name] = null;
  for (const name of rangedParameters) {
    const value = withinRange(request[name], route.parameterRanges[name]);
    if (value !== request[name] && changes[name] === undefined) changes[name] = value;
  }
  const format = request.response_format?.type;
  if (format !== undefined && !kept(format === 'json_schema' ? 'structured_outputs' : 'response_format')) {
    changes.response_format = null;
  }
  // If `tool_choice: none` cannot be sent, the tools are removed as well: the provider would be free to call them.
  const unsaid = request.tool_choice === 'none' && changes.tool_choice === null;
  if ((request.tools?.length ?? 0) > 0 && (unsaid || !kept('tools'))) changes.tools = null;
  return Object.keys(changes).length === 0 ? request : { ...request, ...changes };
}

function withinRange(
  value: number | null | undefined,
  range: Route['parameterRanges'][RangedParameter],
): number | null | undefined {
  if (value == null || range === undefined) return value;
  return Math.min(Math.max(value, range.min ?? value), range.max ?? value);
}
