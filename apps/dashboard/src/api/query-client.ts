import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError } from './call.ts';

/** Reads are tried again where the failure may pass; changes never: a second order is worse than an error. */
export function makeQueryClient(onSessionEnded: () => void): QueryClient {
  const watch = (error: unknown): void => {
    if (error instanceof ApiError && error.type === 'unauthenticated') onSessionEnded();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError: watch }),
    mutationCache: new MutationCache({ onError: watch }),
    defaultOptions: {
      queries: {
        staleTime: 15_000,
        retry: (count, error) => count < 2 && isPassing(error),
        retryDelay: (count, error) =>
          error instanceof ApiError && error.retryAfterS !== undefined
            ? Math.min(error.retryAfterS, 10) * 1000
            : 400 * 2 ** count,
      },
      mutations: { retry: false },
    },
  });
}

const isPassing = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 502);
