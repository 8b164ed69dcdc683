import type { ModelType, Route } from '../catalog/catalog.ts';

/** What one request body needs of a route. Counts only: nothing of the content itself. */
export interface Needs {
  readonly modelType: ModelType;
  readonly tools: boolean;
  readonly vision: boolean;
  /** A JSON schema that the answer must follow. */
  readonly structuredOutput: boolean;
  /** `json_object`: asked for, but a need only under `require_parameters`. */
  readonly jsonObject: boolean;
  readonly reasoningEffort: string | undefined;
  /** The request switches thinking off. */
  readonly reasoningDisabled: boolean;
  /** An estimate of the prompt, for context windows. */
  readonly promptTokens: number;
  /** The output ceiling that the request asks for; undefined where it leaves it to the route. */
  readonly maxOutputTokens: number | undefined;
  /** Whether the content is encrypted to a provider: only e2ee routes serve that, and they serve nothing else. */
  readonly encrypted: boolean;
}

/** A request that needs nothing in particular: what is known before there is a body. */
export const noNeeds = (modelType: ModelType): Needs => ({
  modelType,
  tools: false,
  vision: false,
  structuredOutput: false,
  jsonObject: false,
  reasoningEffort: undefined,
  reasoningDisabled: false,
  promptTokens: 0,
  maxOutputTokens: undefined,
  encrypted: false,
});

/** Whether a route offers what the request cannot do without; with `strictly`, everything that it asks for. */
export function offers(route: Route, needs: Needs, strictly: boolean): boolean {
  const { tools, vision, structuredOutput, reasoning } = route.capabilities;
  if ((needs.tools && !tools) || (needs.vision && !vision) || (needs.structuredOutput && !structuredOutput))
    return false;
  if (!strictly) return true;
  if (needs.jsonObject && !structuredOutput) return false;
  if (needs.reasoningEffort !== undefined && !reasoning?.efforts.includes(needs.reasoningEffort)) return false;
  return !(needs.reasoningDisabled && reasoning !== undefined && !reasoning.canDisable);
}

/** Whether prompt and requested output fit the route's context window and output limit. */
export function holds(route: Route, needs: Needs): boolean {
  const output = needs.maxOutputTokens ?? 1;
  if (route.contextLength !== undefined && needs.promptTokens + output > route.contextLength) return false;
  return (
    needs.maxOutputTokens === undefined || needs.maxOutputTokens <= (route.maxOutputTokens ?? Number.POSITIVE_INFINITY)
  );
}
