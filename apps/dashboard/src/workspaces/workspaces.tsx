import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type AnyRouter, Link, useParams, useRouter, useSearch } from '@tanstack/react-router';
import { createContext, use, useCallback, useMemo, useState } from 'react';
import { callAll } from '../api/call.ts';
import { balanceQuery, billingCatalogQuery } from '../api/queries.ts';
import { linkClass } from '../ui/button.tsx';
import { ErrorState, Loading, type LoadingProps, Notice } from '../ui/surface.tsx';

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: async ({ signal }) => byOwner(await callAll('GET /v1/workspaces', { signal })),
});

/** The default workspace first, then the user's own, then those that the user joined. */
const byOwner = (workspaces: readonly WorkspaceAnswer[]): WorkspaceAnswer[] =>
  workspaces.toSorted((one, other) => placeOf(one) - placeOf(other));
const placeOf = ({ is_default, role }: WorkspaceAnswer): number => (is_default ? 0 : role === 'owner' ? 1 : 2);

/** The owner of another person's workspace, which may have the name of one's own. Undefined for one's own. */
export const otherOwnerOf = ({ role, owner_email }: WorkspaceAnswer): string | undefined =>
  role === 'owner' ? undefined : (owner_email ?? undefined);

interface ChosenWorkspace {
  /** The workspace that pages show; undefined until the list is loaded. */
  readonly workspace: WorkspaceAnswer | undefined;
  readonly workspaces: readonly WorkspaceAnswer[];
  readonly choose: (id: string) => void;
}

const Chosen = createContext<ChosenWorkspace>({ workspace: undefined, workspaces: [], choose: () => {} });

export const ChosenWorkspaceProvider = Chosen.Provider;

/** The workspace that pages show, and a function to choose another. */
export const useWorkspace = (): ChosenWorkspace => use(Chosen);

/**
 * The workspace that the page shows, and a function that goes on with another one. A page about one workspace shows that one,
 * and so does a search that names one.
 */
export function useShownWorkspace() {
  const { workspace: chosen, workspaces, choose } = useWorkspace();
  const { workspaceId } = useParams({ strict: false });
  const { workspace: asked, key, member, tag } = useSearch({ strict: false });
  const router: AnyRouter = useRouter();
  return {
    workspace: workspaces.find(({ id }) => id === (workspaceId ?? asked)) ?? chosen,
    workspaces,
    open: (id: string): void => {
      choose(id);
      if (workspaceId !== undefined) void router.navigate({ to: '.', params: { workspaceId: id } });
      else if ([asked, key, member, tag].some((one) => one !== undefined)) {
        // A key, a member and a tag belong to one workspace.
        const none = { workspace: undefined, key: undefined, member: undefined, tag: undefined };
        void router.navigate({ to: '.', search: (before: object) => ({ ...before, ...none }) });
      }
    },
  };
}

const storageKey = 'sotto.workspace';

/** Keeps the choice in this browser. Falls back to the default workspace if the chosen one is gone. */
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

/** Shown while the chosen workspace is not known: it is loading, or could not be loaded. */
export function WorkspaceLoading(loading: LoadingProps) {
  const { error, refetch } = useQuery(workspacesQuery);
  return error === null ? <Loading {...loading} /> : <ErrorState error={error} onRetry={() => void refetch()} />;
}

/**
 * Warns that the balance is used up before a request is refused for it. Only the owner sees it: the owner's balance pays,
 * and the balance of another member does not matter.
 */
export function EmptyBalanceNotice({ workspace }: { workspace: WorkspaceAnswer | undefined }) {
  const { data: balance } = useQuery(balanceQuery);
  const { data: catalog } = useQuery(billingCatalogQuery);
  if (workspace?.role !== 'owner' || balance === undefined || balance.available > 0) return null;
  if (catalog === undefined) return null;
  if (catalog.mode === 'none') {
    return (
      <Notice tone="warn">
        Your balance is empty, so requests that cost something are rejected.{' '}
        <Link to="/billing" className={linkClass}>
          See your monthly grant
        </Link>
        , or ask your operator for more.
      </Notice>
    );
  }
  return (
    <Notice tone="warn">
      Your balance is empty, so requests are rejected until you{' '}
      <Link to="/billing" className={linkClass}>
        top up
      </Link>
      .
    </Notice>
  );
}
