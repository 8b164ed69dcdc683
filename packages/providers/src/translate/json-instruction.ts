import type { ChatRequest } from '@sotto/wire';

const anyObject = 'Answer with one valid JSON object and nothing else: no words around it and no code fence.';

/**
 * What takes the place of `json_object`, and of a `json_schema` without a schema, on APIs that know no such mode: a
 * sentence at the end of the system prompt. Undefined where nothing of the kind is asked for.
 */
export function jsonInstruction(format: ChatRequest['response_format']): string | undefined {
  if (format?.type === 'json_object') return anyObject;
  return format?.type === 'json_schema' && format.json_schema.schema === undefined ? anyObject : undefined;
}
