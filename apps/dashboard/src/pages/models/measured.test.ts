import { expect, it } from 'vitest';
import { incidentsOf, measuredOf, troubledAt } from './measured.ts';

const hour = (at: number, success_rate: number | null, requests = 100) => ({
  at: `2026-11-21T${String(at).padStart(2, '0')}:00:00.000Z`,
  success_rate,
  requests,
  ttft_p50_ms: null,
});
const route = (provider: string, tps: number | null, series: ReturnType<typeof hour>[] = []) => ({
  provider,
  privacy_class: 'private' as const,
  window_hours: 24 as const,
  success_rate: tps === null ? null : 0.9,
  requests: 100,
  ttft_ms: tps === null ? null : { p50: 1000 / tps, p90: 1, p99: 1 },
  throughput_tps: tps === null ? null : { p50: tps },
  series,
});
const wanted = (provider: string) => ({ provider, privacy_class: 'private' }) as never;

it('takes the best figure of the routes that are shown, and of no other', () => {
  const known = [route('acme', 20), route('beta', 50), route('vault', null)];
  expect(measuredOf(known, [wanted('acme'), wanted('beta'), wanted('vault')])).toEqual({
    successRate: 0.9,
    tokensPerSecond: 50,
    firstTokenMs: 20,
  });
  expect(measuredOf(known, [wanted('acme')]).tokensPerSecond).toBe(20);
  expect(measuredOf(known, [wanted('vault')])).toEqual({});
});

it('looks for incidents only at models where requests failed, the most failures first', () => {
  const at = (success_rate: number, requests: number) => [{ ...route('acme', 20), success_rate, requests }];
  const known = new Map([
    ['lab/few', at(0.95, 100)],
    ['lab/none', at(1, 9000)],
    ['lab/many', at(0.99, 5000)],
    ['lab/elsewhere', [{ ...route('beta', 20), success_rate: 0.1 }]],
  ]);
  expect(troubledAt('acme', known)).toEqual(['lab/many', 'lab/few']);
});

it('joins the bad hours of a route that follow each other, and counts no hour with too few requests', () => {
  const series = [hour(7, 0.5), hour(5, 0.9, 300), hour(6, 0.5, 100), hour(8, null), hour(9, 0.94), hour(10, 0.95)];
  const incidents = incidentsOf('acme', [
    { model: 'lab/a', routes: [route('acme', null, series), route('beta', null, [hour(3, 0.1)])] },
  ]);
  expect(incidents.map(({ from, to, requests }) => [from.slice(11, 13), to.slice(11, 13), requests])).toEqual([
    ['09', '09', 100],
    ['05', '07', 500],
  ]);
  expect(incidents[1]?.successRate).toBeCloseTo((0.9 * 300 + 0.5 * 200) / 500);
});
