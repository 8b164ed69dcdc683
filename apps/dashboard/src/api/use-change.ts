import {
  type QueryKey,
  type UseMutationOptions,
  type UseMutationResult,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback, useRef } from 'react';
import { useAnnounce } from '../ui/toasts.tsx';

type WithoutPromise<Result> = Result extends unknown ? Omit<Result, 'mutateAsync'> : never;
export type Change<Answer, Asked, Context> = WithoutPromise<UseMutationResult<Answer, Error, Asked, Context>>;

interface Stale {
  readonly queryKey: QueryKey;
  readonly exact?: boolean;
}

export interface ChangeOptions<Answer, Asked = void, Context = unknown>
  extends UseMutationOptions<Answer, Error, Asked, Context> {
  /** The queries that the change makes stale: those whose keys begin with one of these. `exact`: the one with this key. */
  readonly refreshes?: Stale | readonly Stale[];
  /** The answer holds a secret that is shown only once. It is shown at once, and the stale queries load meanwhile. */
  readonly answersSecret?: boolean;
  /** The toast that says it is done. */
  readonly says?: string | ((answer: Answer) => string);
}

/**
 * `useMutation` for every form and button. A call is skipped while the same call is under way. To disable the busy button
 * is not enough, because the page draws it some milliseconds after the first press. Two presses within those made two
 * orders. After a success it loads the stale queries again, then calls `onSuccess`, then says so.
 */
export function useChange<Answer = unknown, Asked = void, Context = unknown>({
  refreshes = [],
  answersSecret = false,
  says,
  onSuccess,
  ...options
}: ChangeOptions<Answer, Asked, Context>): Change<Answer, Asked, Context> {
  const client = useQueryClient();
  const announce = useAnnounce();
  const underWay = useRef(new Set<string>());
  const { mutateAsync, ...change } = useMutation({
    ...options,
    onSuccess: async (...done) => {
      const loaded = [refreshes]
        .flat()
        .map(({ queryKey, exact = false }) => client.invalidateQueries({ queryKey, exact }));
      if (!answersSecret) await Promise.all(loaded);
      await onSuccess?.(...done);
      if (says !== undefined) announce({ text: typeof says === 'string' ? says : says(done[0]) });
    },
  });
  const mutate = useCallback<Change<Answer, Asked, Context>['mutate']>(
    (...asked) => {
      const key = JSON.stringify(asked.slice(0, 1));
      if (underWay.current.has(key)) return;
      underWay.current.add(key);
      mutateAsync(...asked)
        // The page reads failures from the result.
        .catch(() => {})
        .finally(() => underWay.current.delete(key));
    },
    [mutateAsync],
  );
  return { ...change, mutate };
}
