import { type InfiniteData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo } from 'react';
import {
  isOpenTime,
  mostArrivals,
  newestRowsQuery,
  type UsageRow,
  type UsageRowFilters,
  usageRowsQuery,
} from '../../api/usage.ts';

/** The newest rows that are not listed. `isMore`: they do not reach to the listed ones, so there are more between them. */
export function arrivalsOf(newest: readonly UsageRow[], listed: readonly UsageRow[]) {
  const known = new Set(listed.map(({ id }) => id));
  const arrived = newest.filter(({ id }) => !known.has(id));
  return { arrived, isMore: newest.length >= mostArrivals && arrived.length === newest.length && listed.length > 0 };
}

/**
 * Requests that came after the list was loaded. They are put on top by themselves while the reader is there, and wait for
 * a press of a button otherwise, so that no row moves under the reader.
 */
export function useArrivals(filters: UsageRowFilters, rows: readonly UsageRow[], isAtRest: boolean) {
  const client = useQueryClient();
  const { data: newest } = useQuery({ ...newestRowsQuery(filters), enabled: isOpenTime(filters) });
  const { arrived, isMore } = useMemo(() => arrivalsOf(newest, rows), [newest, rows]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the filters are the same as long as their text is
  const show = useCallback(() => {
    const { queryKey } = usageRowsQuery(filters);
    if (isMore) return void client.resetQueries({ queryKey });
    client.setQueryData<InfiniteData<{ readonly data: readonly UsageRow[] }>>(queryKey, (loaded) => {
      const [first, ...others] = loaded?.pages ?? [];
      if (loaded === undefined || first === undefined) return loaded;
      // A request may be booked after one of a later minute.
      const data = [...arrived, ...first.data].toSorted((left, right) => right.at.localeCompare(left.at));
      return { ...loaded, pages: [{ ...first, data }, ...others] };
    });
  }, [client, arrived, isMore, JSON.stringify(filters)]);
  const waits = arrived.length > 0;
  useEffect(() => {
    if (waits && isAtRest && !isMore) show();
  }, [waits, isAtRest, isMore, show]);
  return waits && (!isAtRest || isMore) ? { count: arrived.length, isMore, show } : undefined;
}
