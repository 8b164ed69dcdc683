import type { BalanceAnswer } from '@sotto/wire';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** What the account of this session can spend. */
export const balanceQuery = queryOptions({
  queryKey: ['balance'],
  queryFn: ({ signal }) => call<BalanceAnswer>('/balance', { signal }),
  refetchInterval: 30_000,
});
