import { queryOptions } from '@tanstack/react-query';
import { ApiError, call } from '../api/call.ts';

/** How people sign in here, and whether mail is sent. */
export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => call('GET /v1/auth/methods', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/**
 * Awaits an answer whose 401 is about what was typed, a code or a password beside a session that goes on: not the sign
 * that the session has ended.
 */
export const aboutWhatWasTyped = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
  answer.catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.type !== 'unauthenticated') throw error;
    const { status, requestId, param, retryAfterS } = error;
    throw new ApiError(error.message, { type: 'refused', status, requestId, param, retryAfterS });
  });
