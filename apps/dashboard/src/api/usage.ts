import type { UsageGroup, UsagePage } from '@sotto/contract/control/usage';
import type { UsageError } from '@sotto/wire';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { addressOf, call } from './call.ts';
import { byCursor } from './queries.ts';

/** The query key of everything about usage. */
export const usageQueryKey = ['usage'] as const;

/** Selects usage; an absent field selects all. */
export interface UsageFilters {
  /** A UTC day, inclusive. */
  readonly from: string;
  /** A UTC day, exclusive. */
  readonly to: string;
  readonly workspace_id?: string | undefined;
  readonly key_id?: string | undefined;
  readonly model?: string | undefined;
  /** The account that created the key. */
  readonly member_id?: string | undefined;
  /** Of the key. Requests are not selected by it. */
  readonly tag?: string | undefined;
}

/** Sums of each group, and of all. */
export const usageSumsQuery = (filters: UsageFilters, groups: readonly UsageGroup[]) =>
  queryOptions({
    queryKey: [...usageQueryKey, 'sums', filters, groups],
    queryFn: ({ signal }) => call('GET /v1/usage/daily', { query: { ...filters, group_by: groups.join() }, signal }),
  });

/** One request, as the service keeps it. */
export type UsageRow = UsagePage['data'][number];

/** Selects requests. */
export interface UsageRowFilters extends UsageFilters {
  /** Only so many hours before now, instead of the days. */
  readonly hours: number | undefined;
  readonly status: UsageRow['status'] | undefined;
  readonly error: UsageError | undefined;
  readonly provider: string | undefined;
}

const rowsOfPage = 200;
const hourMs = 3_600_000;

const rowsAsked = ({ hours, tag: _, ...filters }: UsageRowFilters) =>
  hours === undefined
    ? filters
    : { ...filters, from: new Date(Date.now() - hours * hourMs).toISOString(), to: undefined };

export const usageRowsKey = [...usageQueryKey, 'rows'] as const;

/** Requests, newest first, a page at a time. The list may have many pages, so only the reader loads it again. */
export const usageRowsQuery = (filters: UsageRowFilters) =>
  infiniteQueryOptions({
    queryKey: [...usageRowsKey, filters],
    queryFn: ({ pageParam, signal }) =>
      call('GET /v1/usage', { query: { ...rowsAsked(filters), limit: rowsOfPage, cursor: pageParam }, signal }),
    ...byCursor,
    // Forgotten with the list that shows it. Otherwise a return to the list would load all its pages again.
    gcTime: 0,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });

/** The address of all matching requests as CSV. */
export const usageRowsCsv = (filters: UsageRowFilters): string =>
  addressOf('GET /v1/usage', { query: { ...rowsAsked(filters), format: 'csv' } });

/** The address of the sums as CSV. */
export const usageSumsCsv = (filters: UsageFilters, groups: readonly UsageGroup[]): string =>
  addressOf('GET /v1/usage/daily', { query: { ...filters, group_by: groups.join(), format: 'csv' } });

/** The newest request of a workspace, or of one key. */
export const newestRequestQuery = (of: Pick<UsageFilters, 'workspace_id' | 'key_id'>) =>
  queryOptions({
    queryKey: [...usageQueryKey, 'newest', of],
    queryFn: async ({ signal }) =>
      (await call('GET /v1/usage', { query: { ...of, limit: 1 }, signal })).data[0] ?? null,
  });
