import type { ChatRequest } from '@sotto/wire';
import type { Needs } from '../plan/needs.ts';
import type { ChatParameter } from './parameter-names.ts';

/**
 * The parameters of a body that it can do without. Tools, schemas and the reasoning selection are separate needs. With
 * `tool_choice: none`, the tools and their settings count as unused.
 */
export function optionalParametersOf(request: OptionalFields): readonly ChatParameter[] {
  const usesTools = (request.tools?.length ?? 0) > 0 && request.tool_choice !== 'none';
  const optionalParameters: Readonly<Partial<Record<ChatParameter, boolean>>> = {
    temperature: request.temperature != null,
    top_p: request.top_p != null,
    stop: request.stop != null,
    seed: request.seed != null,
    frequency_penalty: request.frequency_penalty != null,
    presence_penalty: request.presence_penalty != null,
    repetition_penalty: request.repetition_penalty != null,
    top_k: request.top_k != null,
    min_p: request.min_p != null,
    response_format: request.response_format?.type === 'json_object',
    tool_choice: usesTools && request.tool_choice != null,
    parallel_tool_calls: usesTools && request.parallel_tool_calls != null,
  };
  return (Object.keys(optionalParameters) as ChatParameter[]).filter((name) => optionalParameters[name]);
}

type OptionalFields = Partial<
  Pick<
    ChatRequest,
    | 'tools'
    | 'tool_choice'
    | 'parallel_tool_calls'
    | 'temperature'
    | 'top_p'
    | 'stop'
    | 'seed'
    | 'frequency_penalty'
    | 'presence_penalty'
    | 'repetition_penalty'
    | 'top_k'
    | 'min_p'
    | 'response_format'
  >
>;

/** Every parameter that a request uses, required and optional. */
export function usedParameters(needs: Needs): readonly ChatParameter[] {
  const used = [...needs.optionalParameters];
  if (needs.tools) used.push('tools');
  if (needs.structuredOutput) used.push('structured_outputs');
  if (needs.reasoningEffort !== undefined && !needs.reasoningDisabled) used.push('reasoning_effort');
  return used;
}
