import { useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { balanceQuery } from '../../../api/balance.ts';
import { refusalOf } from '../../../api/call.ts';
import { useChange } from '../../../api/use-change.ts';
import { factsOf } from '../chat/answer-headers.ts';
import type { AnswerFacts } from '../chat/conversation.ts';
import type { OpenWay } from '../open-way.ts';

export interface Made {
  /** A `blob:` address, good while the page is open. */
  readonly url: string;
  readonly facts: AnswerFacts;
}

export interface MediaQuestion {
  readonly path: '/images/generations' | '/audio/speech';
  readonly body: object;
  /** Takes the file out of the answer. */
  readonly read: (answer: Response) => Promise<Blob>;
}

/** Asks for one image or one piece of speech by ticket; what it made is shown until the next. */
export function useMedia(open: () => Promise<OpenWay>) {
  const controller = useRef<AbortController>(undefined);
  const client = useQueryClient();
  const asking = useChange({
    mutationFn: async ({ path, body, read }: MediaQuestion): Promise<Made> => {
      if (asking.data !== undefined) URL.revokeObjectURL(asking.data.url);
      const startedAt = performance.now();
      controller.current = new AbortController();
      const way = await open();
      const answer = await way.send(path, body, controller.current.signal);
      if (!answer.ok) throw await refusalOf(answer);
      const facts = { way: 'private', ...factsOf(answer.headers), ...way.vouched() } as const;
      const url = URL.createObjectURL(await read(answer));
      return { url, facts: { ...facts, totalMs: performance.now() - startedAt } };
    },
    onSettled: () => client.invalidateQueries({ queryKey: balanceQuery.queryKey }),
  });
  const isStopped = asking.isError && controller.current?.signal.aborted === true;
  return {
    ask: (question: MediaQuestion) => asking.mutate(question),
    stop: () => controller.current?.abort(),
    isRunning: asking.isPending,
    isStopped,
    error: isStopped ? null : asking.error,
    made: asking.data,
  };
}
