import { type InfiniteData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { newestRowsQuery, type UsageRow, type UsageRowFilters, usageRowsQuery } from '../../api/usage.ts';

const minuteMs = 60_000;

/**
 * The rows of completed minutes that are not listed. `isMore`: the newest rows do not reach to the listed ones, so there are
 * more between them.
 */
export function arrivalsOf(newest: readonly UsageRow[], listed: readonly UsageRow[], now: number) {
  const known = new Set(listed.slice(0, newest.length).map(({ id }) => id));
  const arrived = newest.filter(({ id, at }) => !known.has(id) && Date.parse(at) + minuteMs <= now);
  const isApart = newest.length > 0 && newest.every(({ id }) => !known.has(id));
  return { arrived, isMore: listed.length > 0 && isApart };
}

/**
 * Requests that came after the list was loaded. They are put on top by themselves while the reader is there, and wait for
 * a press of a button otherwise, so that no row moves under the reader.
 */
export function useArrivals(filters: UsageRowFilters, rows: readonly UsageRow[], isAtRest: boolean) {
  const client = useQueryClient();
  // A time that has ended gets no more requests.
  const isOpen = filters.minutes === undefined || Date.parse(filters.minutes.until) > Date.now();
  const { data: newest } = useQuery({ ...newestRowsQuery(filters), enabled: isOpen });
  const { arrived, isMore } = arrivalsOf(newest ?? [], rows, Date.now());
  const { queryKey } = usageRowsQuery(filters);
  const key = JSON.stringify(arrived.map(({ id }) => id));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids name the rows and the filters
  const show = useCallback(() => {
    if (isMore) return void client.resetQueries({ queryKey });
    client.setQueryData<InfiniteData<{ readonly data: readonly UsageRow[] }>>(queryKey, (loaded) => {
      const [first, ...others] = loaded?.pages ?? [];
      if (loaded === undefined || first === undefined) return loaded;
      return { ...loaded, pages: [{ ...first, data: [...arrived, ...first.data] }, ...others] };
    });
  }, [client, key, isMore, JSON.stringify(filters)]);
  const waits = arrived.length > 0;
  useEffect(() => {
    if (waits && isAtRest && !isMore) show();
  }, [waits, isAtRest, isMore, show]);
  return waits && (!isAtRest || isMore) ? { count: arrived.length, isMore, show } : undefined;
}
