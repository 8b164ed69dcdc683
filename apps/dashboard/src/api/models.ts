import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The public catalog: every model with its routes. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async ({ signal }) => (await call('GET /v1/catalog/models', { signal })).data,
  staleTime: 60_000,
});
