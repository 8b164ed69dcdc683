import type { ReasoningSelection } from '@sotto/wire';
import type { ModelType, Route } from '../catalog/catalog.ts';
import { isOnLadder } from '../parameters/effort.ts';
import type { ChatParameter } from '../parameters/parameter-names.ts';

/** The needs of one request body. It holds counts and flags, no content. */
export interface Needs {
  readonly modelType: ModelType;
  readonly tools: boolean;
  readonly vision: boolean;
  /** A JSON schema that the answer must follow. */
  readonly structuredOutput: boolean;
  /** Optional parameters that the body uses. They are a need only under `require_parameters`. */
  readonly optionalParameters: readonly ChatParameter[];
  readonly reasoningEffort: string | undefined;
  /** The request turns reasoning off. */
  readonly reasoningDisabled: boolean;
  /** The request enables reasoning without an effort. */
  readonly reasoningEnabled: boolean;
  /** An estimate of the prompt, for context windows. */
  readonly promptTokens: number;
  /** The output ceiling of the request. Undefined if the request leaves it to the route. */
  readonly maxOutputTokens: number | undefined;
  /** Whether the content is encrypted to a provider. Only e2ee routes serve such requests, and they serve no others. */
  readonly encrypted: boolean;
}

/** The needs of a request whose body is not known yet. */
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

export const reasoningNeeds = ({ effort, enabled }: ReasoningSelection): Pick<Needs, ReasoningNeed> => ({
  reasoningEffort: effort,
  reasoningDisabled: enabled === false || effort === 'none',
  reasoningEnabled: enabled === true && effort === undefined,
});
type ReasoningNeed = 'reasoningEffort' | 'reasoningDisabled' | 'reasoningEnabled';

/** Whether a route can use the requested effort. An effort on the common ladder always has a nearest level. */
export const knowsEffort = ({ capabilities }: Route, { reasoningEffort }: Needs): boolean =>
  !isOwnLevel(reasoningEffort) || capabilities.reasoning?.efforts.includes(reasoningEffort) === true;

/** An effort off the common ladder has no nearest level, so only a model that lists it can use it. */
export const isOwnLevel = (effort: string | undefined): effort is string => effort !== undefined && !isOnLadder(effort);

/** Whether prompt and requested output fit the route's context window and output limit. */
export function holds(route: Route, needs: Needs): boolean {
  const output = needs.maxOutputTokens ?? 1;
  if (route.contextLength !== undefined && needs.promptTokens + output > route.contextLength) return false;
  return (
    needs.maxOutputTokens === undefined || needs.maxOutputTokens <= (route.maxOutputTokens ?? Number.POSITIVE_INFINITY)
  );
}
