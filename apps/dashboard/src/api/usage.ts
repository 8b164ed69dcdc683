import type { UsageGroup, UsagePage } from '@sotto/contract/control/usage';
import type { UsageError } from '@sotto/wire';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { hourMs } from '../format/days.ts';
import { addressOf, call } from './call.ts';
import { byCursor } from './queries.ts';

/** The query key of everything about usage. */
export const usageQueryKey = ['usage'] as const;

/** Selects usage; an absent field selects all. */
export interface UsageFilters {
  /** A UTC day or, of sums by hour, an instant. Inclusive. */
  readonly from: string;
  /** The same, exclusive. */
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
  /** Only from this UTC minute on and before the other, instead of hours and days. */
  readonly minutes: { readonly since: string; readonly until: string } | undefined;
  readonly status: UsageRow['status'] | undefined;
  readonly error: UsageError | undefined;
  readonly provider: string | undefined;
}

const rowsOfPage = 200;

/** The time that is selected: two instants or UTC days, the second one exclusive. */
function timeOf({ hours, minutes, from, to }: Pick<UsageRowFilters, 'hours' | 'minutes' | 'from' | 'to'>) {
  if (minutes !== undefined) return { from: instantOf(minutes.since), to: instantOf(minutes.until) };
  if (hours !== undefined) return { from: new Date(Date.now() - hours * hourMs).toISOString(), to: undefined };
  return { from, to };
}

const instantOf = (minute: string): string => new Date(minute).toISOString();

const rowsAsked = ({ hours, minutes, tag: _, ...filters }: UsageRowFilters) => ({
  ...filters,
  ...timeOf({ hours, minutes, ...filters }),
});

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

const askAgainMs = 20_000;
const minuteMs = 60_000;
/** As many new requests are put on top. If there are more, the list begins anew. */
export const mostArrivals = 50;
/** The query key of requests that came after a list was loaded. */
export const arrivalsKey = [...usageQueryKey, 'arrivals'] as const;

/** Whether requests may still come that match: the time goes on. */
export const isOpenTime = (filters: UsageRowFilters): boolean => Date.parse(timeOf(filters).to ?? '9999') > Date.now();

/** The newest of these requests whose minute is complete. They are asked for while the page is looked at, some time after the list. */
export const newestRowsQuery = (filters: UsageRowFilters) =>
  queryOptions({
    queryKey: [...arrivalsKey, filters],
    queryFn: async ({ signal }): Promise<readonly UsageRow[]> => {
      const query = { ...rowsAsked(filters), limit: mostArrivals };
      const to = new Date(Math.floor(Date.now() / minuteMs) * minuteMs).toISOString();
      // In the first minute of a day, no minute of it is complete.
      if (Date.parse(query.from) >= Date.parse(to)) return [];
      return (await call('GET /v1/usage', { query: { ...query, to }, signal })).data;
    },
    initialData: [],
    refetchInterval: askAgainMs,
    staleTime: askAgainMs,
    refetchOnWindowFocus: 'always',
    gcTime: 0,
  });

/** Selects refused requests. */
export interface RefusalFilters {
  readonly from: string;
  readonly to: string | undefined;
  readonly workspace_id: string | undefined;
  readonly key_id: string | undefined;
  readonly member_id: string | undefined;
  /** Whether the time is longer than the service answers for, so that only its end is selected. */
  readonly isCut: boolean;
}

const mostRefusalsMs = 31 * 24 * hourMs;

/** Selects the refused requests of the time, the key and the member that a list of requests shows. */
export function refusalFilters(filters: UsageRowFilters): RefusalFilters {
  const { from, to } = timeOf(filters);
  const end = Math.min(to === undefined ? Date.now() : Date.parse(to), Math.ceil(Date.now() / hourMs) * hourMs);
  const earliest = end - mostRefusalsMs + hourMs;
  const isCut = Date.parse(from) < earliest;
  return {
    from: isCut ? new Date(earliest).toISOString() : from,
    ...{ to, isCut, workspace_id: filters.workspace_id, key_id: filters.key_id, member_id: filters.member_id },
  };
}

/** The counts of refused requests, newest hour first. */
export const refusalsQuery = ({ isCut: _, ...query }: RefusalFilters) =>
  queryOptions({
    // The hour is enough: a list of the last hours would otherwise ask again with each drawing.
    queryKey: [...usageQueryKey, 'refusals', { ...query, from: query.from.slice(0, 13) }],
    queryFn: ({ signal }) => call('GET /v1/usage/refusals', { query, signal }),
  });

/** The counts of a workspace's requests that were refused in the last 24 hours. */
export const newRefusalsQuery = (workspace_id: string) => {
  const from = new Date(Date.now() - 24 * hourMs).toISOString();
  return refusalsQuery({ from, to: undefined, workspace_id, key_id: undefined, member_id: undefined, isCut: false });
};

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
