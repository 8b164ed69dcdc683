import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useCallback, useRef } from 'react';

type WithoutPromise<Result> = Result extends unknown ? Omit<Result, 'mutateAsync'> : never;
export type Change<Answer, Asked, Context> = WithoutPromise<UseMutationResult<Answer, Error, Asked, Context>>;

/**
 * `useMutation` for every form and button. A call is skipped while the same call is under way. To disable the busy button
 * is not enough, because the page draws it some milliseconds after the first press. Two presses within those made two
 * orders.
 */
export function useChange<Answer = unknown, Asked = void, Context = unknown>(
  options: UseMutationOptions<Answer, Error, Asked, Context>,
): Change<Answer, Asked, Context> {
  const underWay = useRef(new Set<string>());
  const { mutateAsync, ...change } = useMutation(options);
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
