import type { ReasoningSelection } from '@sotto/wire';
import type { ModelType, Route } from '../catalog/catalog.ts';
import { isOnLadder } from '../parameters/effort.ts';
import type { ChatParameter } from '../parameters/parameter-names.ts';

/** What one request body needs of a route. Counts only: nothing of the content itself. */
export interface Needs {
  readonly modelType: ModelType;
  readonly tools: boolean;
  readonly vision: boolean;
  /** A JSON schema that the answer must follow. */
  readonly structuredOutput: boolean;
  /** Parameters that the body uses and could do without: a need only under `require_parameters`. */
  readonly optionalParameters: readonly ChatParameter[];
  readonly reasoningEffort: string | undefined;
  /** The request switches thinking off. */
  readonly reasoningDisabled: boolean;
  /** The request asks to think, at whatever effort. */
  readonly reasoningEnabled: boolean;
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
  optionalParameters: [],
  reasoningEffort: undefined,
  reasoningDisabled: false,
  reasoningEnabled: false,
  promptTokens: 0,
  maxOutputTokens: undefined,
  encrypted: false,
});

/** What a reasoning selection needs. */
export const reasoningNeeds = ({ effort, enabled }: ReasoningSelection): Pick<Needs, ReasoningNeed> => ({
  reasoningEffort: effort,
  reasoningDisabled: enabled === false || effort === 'none',
  reasoningEnabled: enabled === true && effort === undefined,
});
type ReasoningNeed = 'reasoningEffort' | 'reasoningDisabled' | 'reasoningEnabled';

/** Whether a route can do something with the effort that is asked for: of the common ladder it has a nearest level. */
export const knowsEffort = ({ capabilities }: Route, { reasoningEffort }: Needs): boolean =>
  !isOwnLevel(reasoningEffort) || capabilities.reasoning?.efforts.includes(reasoningEffort) === true;

/** An effort off the common ladder has no nearest level: only a model that names it can mean anything by it. */
export const isOwnLevel = (effort: string | undefined): effort is string => effort !== undefined && !isOnLadder(effort);

/** Whether prompt and requested output fit the route's context window and output limit. */
export function holds(route: Route, needs: Needs): boolean {
  const output = needs.maxOutputTokens ?? 1;
  if (route.contextLength !== undefined && needs.promptTokens + output > route.contextLength) return false;
  return (
    needs.maxOutputTokens === undefined || needs.maxOutputTokens <= (route.maxOutputTokens ?? Number.POSITIVE_INFINITY)
  );
}
