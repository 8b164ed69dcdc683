import type { Measurements, Penalties, Penalty, Route } from '@sotto/router';
import { type CatalogPort, createMemoryState, type HealthPort, MemoryStore } from '@sotto/state';
import { describe, expect, it } from 'vitest';
import { MeasurementLog } from './measurement-log.ts';
import { SharedView } from './shared-view.ts';

const route = { id: 'acme/small@acme', providerId: 'acme' } as Route;

const viewOn = (state: Partial<CatalogPort & HealthPort>, measurements: MeasurementLog, now: () => number) =>
  new SharedView({
    state: state as CatalogPort & HealthPort,
    registry: { digest: '', providers: [] },
    measurements,
    now,
    onDropped: () => {},
  });

function aView() {
  const clock = { now: 1_000_000 };
  let shared: Penalties = new Map();
  let reachable = true;
  const state: Partial<CatalogPort & HealthPort> = {
    readCatalog: async () => undefined,
    readPenalties: async () => shared,
    async updatePenalty(key: string, next: (current: Penalty | undefined) => Penalty) {
      if (!reachable) throw new Error('unreachable');
      shared = new Map(shared).set(key, next(shared.get(key)));
    },
  };
  const now = (): number => clock.now;
  const view = viewOn(state, new MeasurementLog(state as HealthPort, now), now);
  return {
    view,
    clock,
    setReachable(value: boolean) {
      reachable = value;
    },
    share(penalties: Penalties) {
      shared = penalties;
    },
  };
}

describe('SharedView: penalties', () => {
  it('applies a penalty at once, and shares it', async () => {
    const { view, clock } = aView();
    view.punish('server_error', route, clock.now);
    expect(view.status().penalized(route)).toBe(true);
    await view.refresh();
    expect(view.status().penalized(route)).toBe(true);
    clock.now += 30_001;
    expect(view.status().penalized(route)).toBe(false);
  });

  it('keeps its own penalties until the state has taken them', async () => {
    const { view, clock, setReachable } = aView();
    setReachable(false);
    view.punish('server_error', route, clock.now);
    await view.refresh();
    expect(view.status().penalized(route)).toBe(true);
    clock.now += 10_000;
    view.punish('server_error', route, clock.now);
    await view.refresh();
    clock.now += 59_000;
    expect(view.status().penalized(route)).toBe(true);
    clock.now += 600_000;
    await view.refresh();
    expect(view.status().penalized(route)).toBe(false);
  });

  it('takes newer penalties from other brokers', async () => {
    const { view, clock, share } = aView();
    view.punish('server_error', route, clock.now);
    const lastStrikeAt = clock.now + 5;
    share(
      new Map([[`route:${route.id}`, { kind: 'timeout', strikes: 3, lastStrikeAt, expiresAt: clock.now + 120_000 }]]),
    );
    await view.refresh();
    clock.now += 100_000;
    expect(view.status().penalized(route)).toBe(true);
  });
});

describe('SharedView: measurements', () => {
  it('takes new measurements with a refresh, once they are ready to plan with', async () => {
    const log: { measurements: Measurements } = { measurements: new Map() };
    const state: Partial<CatalogPort & HealthPort> = {
      readCatalog: async (known) => (known === 1 ? undefined : { v: 1, version: 1, digest: '', file: { models: [] } }),
      readPenalties: async () => new Map(),
    };
    const view = viewOn(state, log as MeasurementLog, () => 0);
    await view.refresh();
    expect(view.status().measurements).toBe(log.measurements);
    const before = log.measurements;
    log.measurements = new Map([['acme/small@acme', { requests: 20, successes: 20, ttftMs: 1, tokensPerSecond: 1 }]]);
    expect(view.status().measurements).toBe(before);
    await view.refresh();
    expect(view.status().measurements).toBe(log.measurements);
  });

  it('lets measurements age while the state is unavailable', async () => {
    const hourMs = 3_600_000;
    const clock = { now: 1000 * hourMs };
    const now = (): number => clock.now;
    const shared = createMemoryState({ store: new MemoryStore(now) });
    let away = false;
    const reaching = <T>(call: () => Promise<T>): Promise<T> => (away ? Promise.reject(new Error('away')) : call());
    const state = {
      ...shared,
      readCatalog: (version: number) => reaching(() => shared.readCatalog(version)),
      readMeasurements: (hour: number, cursor: string | undefined) =>
        reaching(() => shared.readMeasurements(hour, cursor)),
    };
    await state.publishCatalog({ v: 1, version: 1, digest: '', file: { models: [] } });
    const measurements = new MeasurementLog(state, now);
    const view = viewOn(state, measurements, now);
    measurements.add(route.id, { success: true });
    await measurements.exchange();
    await view.refresh();
    expect(view.status().measurements.get(route.id)?.requests).toBe(1);
    away = true;
    clock.now += 24 * hourMs;
    await expect(measurements.exchange()).rejects.toThrow();
    await expect(view.refresh()).rejects.toThrow();
    expect(view.status().measurements.size).toBe(0);
  });
});
