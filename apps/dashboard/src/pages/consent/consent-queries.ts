import type { AnswerInteraction } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

/** What an app asks for, in the browser where that began. It is asked anew each time: somebody else may have signed in. */
export const interactionQuery = (uid: string) =>
  queryOptions({
    queryKey: ['interactions', uid],
    queryFn: ({ signal }) => call('GET /v1/connect/interactions/{uid}', { params: { uid }, signal }),
    staleTime: 0,
    gcTime: 0,
  });

export const answerInteraction = (uid: string, body: AnswerInteraction) =>
  call('POST /v1/connect/interactions/{uid}', { params: { uid }, body });
