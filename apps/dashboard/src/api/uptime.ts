import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** How the routes of a model did in the last 24 hours. */
export const uptimeQuery = (model: string) =>
  queryOptions({
    queryKey: ['uptime', model],
    queryFn: ({ signal }) => call('GET /v1/models/uptime', { query: { model }, signal }),
    staleTime: 60_000,
  });
