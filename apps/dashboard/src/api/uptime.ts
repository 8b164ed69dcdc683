import type { UptimeAnswer } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** How the routes of a model did in the last 24 hours. */
export const uptimeQuery = (model: string) =>
  queryOptions({
    queryKey: ['uptime', model],
    queryFn: ({ signal }) => call<UptimeAnswer>('/models/uptime', { query: { model }, signal }),
    staleTime: 60_000,
  });
