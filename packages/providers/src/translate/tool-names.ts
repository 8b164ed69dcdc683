import type { ChatRequest } from '@sotto/wire';
import type { UnsupportedRequest } from '../adapter.ts';

/** The first tool whose name an API would refuse. `takes` says in words what `pattern` accepts. */
export function unfitToolName(
  tools: ChatRequest['tools'],
  pattern: RegExp,
  takes: string,
): UnsupportedRequest | undefined {
  const index = (tools ?? []).findIndex(({ function: { name } }) => !pattern.test(name));
  const param = `tools.${index}.function.name`;
  return index === -1 ? undefined : { unsupported: `\`${param}\` must be ${takes}, for this model.`, param };
}
