import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** What the account of this session can spend. */
export const balanceQuery = queryOptions({
  queryKey: ['balance'],
  queryFn: ({ signal }) => call('GET /v1/balance', { signal }),
  refetchInterval: 30_000,
});
