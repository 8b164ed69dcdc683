import { expect, it } from 'vitest';
import { namedRoutes, pointsOf } from './model-uptime.tsx';

const hour = (at: string, ttft_p50_ms: number | null) => ({ at, success_rate: null, requests: 1, ttft_p50_ms });
const route = (provider: string, series: ReturnType<typeof hour>[]) => ({
  provider,
  privacy_class: 'private' as const,
  window_hours: 24 as const,
  success_rate: null,
  requests: 1,
  ttft_ms: null,
  throughput_tps: null,
  series,
});

it('tells unlisted providers apart, and puts their hours side by side in order', () => {
  const routes = namedRoutes({
    model: 'lab/a',
    routes: [
      route('other', [hour('2026-11-21T09:00:00.000Z', 70), hour('2026-11-21T08:00:00.000Z', 60)]),
      route('acme', [hour('2026-11-21T09:00:00.000Z', null)]),
      route('other', [hour('2026-11-21T10:00:00.000Z', 90)]),
    ],
  });
  expect(routes.map(({ name }) => name)).toEqual(['other (1)', 'acme', 'other (2)']);
  expect(pointsOf(routes, 'ttft_p50_ms')).toEqual([
    { x: '2026-11-21T08:00:00.000Z', values: [60, null, null] },
    { x: '2026-11-21T09:00:00.000Z', values: [70, null, null] },
    { x: '2026-11-21T10:00:00.000Z', values: [null, null, 90] },
  ]);
});
