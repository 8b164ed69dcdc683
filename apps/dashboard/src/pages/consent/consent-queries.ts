import type { AnswerInteraction, InteractionAnswer, InteractionDoneAnswer } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

const pathOf = (uid: string): string => `/connect/interactions/${encodeURIComponent(uid)}`;

/** What an app asks for, in the browser where that began. It is asked anew each time: somebody else may have signed in. */
export const interactionQuery = (uid: string) =>
  queryOptions({
    queryKey: ['interactions', uid],
    queryFn: ({ signal }) => call<InteractionAnswer>(pathOf(uid), { signal }),
    staleTime: 0,
    gcTime: 0,
  });

export const answerInteraction = (uid: string, answer: AnswerInteraction): Promise<InteractionDoneAnswer> =>
  call(pathOf(uid), { method: 'POST', body: answer });
