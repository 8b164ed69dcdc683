import { type PlaygroundStanding, standingPath } from '@sotto/client/playground';
import type { ModelListAnswer } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { ApiError, refusalOf } from '../api/errors.ts';
import { pageToken } from './page-token.ts';

interface Asked {
  readonly method?: 'POST';
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Asks the command that serves this page. An abort throws the signal's reason. */
export const askCommand = (path: string, { signal, ...asked }: Asked): Promise<Response> =>
  fetch(path, {
    ...asked,
    headers: { authorization: `Bearer ${pageToken()}`, 'content-type': 'application/json' },
    signal,
    redirect: 'error',
    credentials: 'omit',
    cache: 'no-store',
  }).catch(() => {
    signal.throwIfAborted();
    throw new ApiError('`sotto playground` does not answer. Start it again, and open the address that it prints.', {
      type: 'command_ended',
    });
  });

async function read<Answer>(path: string, signal: AbortSignal): Promise<Answer> {
  const answer = await askCommand(path, { signal });
  if (!answer.ok) throw await refusalOf(answer);
  return (await answer.json()) as Answer;
}

/** Reads the verifications of the command. */
export const readStanding = (signal: AbortSignal): Promise<PlaygroundStanding> => read(standingPath, signal);

export const standingQuery = queryOptions({
  queryKey: ['standing'],
  queryFn: ({ signal }) => readStanding(signal),
  // The command verifies again when a verification is old.
  refetchInterval: 30_000,
});

/** The models of the command's key. */
export const commandModelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async ({ signal }) => (await read<ModelListAnswer>('/v1/models', signal)).data,
  staleTime: 60_000,
});
