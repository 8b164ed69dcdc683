import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { ApiError, refusalOf } from '../../api/errors.ts';
import { useSessionKey } from '../../inference-key/session-key.ts';
import { forgetMadeKey } from '../../inference-key/tab-key.ts';
import { type OpenWay, useWay, type WayOptions } from './open-way.ts';

/**
 * Returns a function that opens a way with the key of the tab. A key that was created here is forgotten once the service
 * refuses it, so that the next request creates another.
 */
export function useTabWay(workspace: WorkspaceAnswer, options: Omit<WayOptions, 'key'>): () => Promise<OpenWay> {
  const keyOfTab = useSessionKey(workspace);
  const openWith = useWay(options);
  return async () => {
    const { key, made } = await keyOfTab();
    const way = await openWith(key);
    const note = (error: unknown): void => {
      if (made && error instanceof ApiError && error.type === 'invalid_api_key') forgetMadeKey(workspace.id, made.id);
    };
    return {
      ...way,
      send: async (...asked) => {
        const answer = await way.send(...asked).catch((error: unknown) => {
          note(error);
          throw error;
        });
        if (answer.status === 401) note(await refusalOf(answer.clone()));
        return answer;
      },
    };
  };
}
