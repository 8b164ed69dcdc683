import type { WorkspaceAnswer } from '@sotto/wire';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { createContext, use, useCallback, useMemo, useState } from 'react';
import { call } from '../api/call.ts';

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: async ({ signal }) => (await call('GET /v1/workspaces', { signal })).data,
});

export interface ChosenWorkspace {
  /** The one that pages are about; undefined until the list is there. */
  readonly workspace: WorkspaceAnswer | undefined;
  readonly workspaces: readonly WorkspaceAnswer[];
  readonly choose: (id: string) => void;
}

const Chosen = createContext<ChosenWorkspace>({ workspace: undefined, workspaces: [], choose: () => {} });

export const ChosenWorkspaceProvider = Chosen.Provider;

/** The workspace that pages are about, and how to choose another. */
export const useWorkspace = (): ChosenWorkspace => use(Chosen);

const storageKey = 'sotto.workspace';

/** Reads and keeps the choice in this browser; one that is gone falls back to the default workspace. */
export function useChosenWorkspace(isSignedIn: boolean): ChosenWorkspace {
  const { data: workspaces = [] } = useQuery({ ...workspacesQuery, enabled: isSignedIn });
  const [chosenId, setChosenId] = useState(() => localStorage.getItem(storageKey));
  const choose = useCallback((id: string) => {
    localStorage.setItem(storageKey, id);
    setChosenId(id);
  }, []);
  return useMemo(
    () => ({
      workspace: workspaces.find(({ id }) => id === chosenId) ?? workspaces.find(({ is_default }) => is_default),
      workspaces,
      choose,
    }),
    [workspaces, chosenId, choose],
  );
}
