import { unknownWorkspace } from './workspace-access.ts';

const uuidPattern = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => uuidPattern.test(text);

/** The workspace id of a path; what cannot be one is `not_found`, as one that is not there. */
export function readWorkspaceId(text: string): string {
  if (!isUuid(text)) throw unknownWorkspace();
  return text;
}
