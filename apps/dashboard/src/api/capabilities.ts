import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** Which of the gated features this deployment offers. */
export const capabilitiesQuery = queryOptions({
  queryKey: ['capabilities'],
  queryFn: ({ signal }) => call('GET /v1/capabilities', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});
