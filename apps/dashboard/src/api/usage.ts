import type { UsageGroup } from '@sotto/wire';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { addressOf, call } from './call.ts';

/** Under which all that was read of usage is kept. */
export const usageQueryKey = ['usage'] as const;

/** What usage is asked for; what is undefined does not narrow. */
export interface UsageFilters {
  /** A UTC day, inclusive. */
  readonly from: string;
  /** A UTC day, exclusive. */
  readonly to: string;
  readonly workspace_id: string | undefined;
  readonly key_id: string | undefined;
  readonly model: string | undefined;
}

/** Sums of each group, and of all. */
export const usageSumsQuery = (filters: UsageFilters, groups: readonly UsageGroup[]) =>
  queryOptions({
    queryKey: [...usageQueryKey, 'sums', filters, groups],
    queryFn: ({ signal }) => call('GET /v1/usage/daily', { query: { ...filters, group_by: groups.join() }, signal }),
  });

const rowsOfPage = 50;

/** Requests, newest first, a page at a time. */
export const usageRowsQuery = (filters: UsageFilters) =>
  infiniteQueryOptions({
    queryKey: [...usageQueryKey, 'rows', filters],
    queryFn: ({ pageParam, signal }) =>
      call('GET /v1/usage', { query: { ...filters, limit: rowsOfPage, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** Where every request that matches is had as CSV. */
export const usageRowsCsv = (filters: UsageFilters): string =>
  addressOf('GET /v1/usage', { query: { ...filters, format: 'csv' } });

/** Where the sums are had as CSV. */
export const usageSumsCsv = (filters: UsageFilters, groups: readonly UsageGroup[]): string =>
  addressOf('GET /v1/usage/daily', { query: { ...filters, group_by: groups.join(), format: 'csv' } });
