import { QueryClient } from '@tanstack/react-query';
import { afterEach, expect, it, vi } from 'vitest';
import { isOpenTime, newestRowsQuery, type UsageRowFilters } from './usage.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const filters: UsageRowFilters = {
  ...{ from: '2026-11-21', to: '2026-11-22', hours: undefined, minutes: undefined },
  ...{ status: undefined, error: undefined, provider: undefined },
};

it('new requests are those of completed minutes, of which a day has none in its first', async () => {
  const fetched = vi.fn<typeof fetch>(async () => Response.json({ data: [{ id: 'a' }] }));
  vi.stubGlobal('fetch', fetched);
  const askAt = (at: string) => {
    vi.setSystemTime(at);
    const { initialData: _, ...query } = newestRowsQuery(filters);
    return new QueryClient().fetchQuery(query);
  };
  expect(await askAt('2026-11-21T10:30:59Z')).toEqual([{ id: 'a' }]);
  const { searchParams } = new URL(String(fetched.mock.calls[0]?.[0]), 'https://control.example');
  expect([searchParams.get('from'), searchParams.get('to')]).toEqual(['2026-11-21', '2026-11-21T10:30:00.000Z']);
  // `from` would be `to`, which the service refuses.
  expect(await askAt('2026-11-21T00:00:59Z')).toEqual([]);
  expect(fetched).toHaveBeenCalledTimes(1);
});

it('no requests come for a time that has ended', () => {
  vi.setSystemTime('2026-11-21T23:59:00Z');
  expect(isOpenTime(filters)).toBe(true);
  expect(isOpenTime({ ...filters, hours: 1 })).toBe(true);
  expect(isOpenTime({ ...filters, to: '2026-11-21' })).toBe(false);
  expect(isOpenTime({ ...filters, minutes: { since: '2026-11-21T10:30Z', until: '2026-11-21T10:40Z' } })).toBe(false);
});
