import { createMemoryState, MemoryStore, type State, StateUnavailableError } from '@sotto/state';
import { describe, expect, it } from 'vitest';
import { MeasurementLog } from './measurement-log.ts';

const hourMs = 3_600_000;
const success = { success: true };

/** Opens brokers on one state, which can be unavailable or lose its replies. */
function aWorld() {
  const clock = { now: 1000 * hourMs };
  const shared = createMemoryState({ store: new MemoryStore(() => clock.now) });
  let fault: 'none' | 'away' | 'reply lost' = 'none';
  const state: State = {
    ...shared,
    async shareMeasurements(batch) {
      if (fault !== 'away') await shared.shareMeasurements(batch);
      if (fault !== 'none') throw new StateUnavailableError(fault);
    },
  };
  const broker = () => new MeasurementLog(state, () => clock.now);
  return {
    clock,
    broker,
    setFault(next: typeof fault) {
      fault = next;
    },
    /** Returns the count that a newly started broker reads. */
    async requests(routeId = 'a'): Promise<number> {
      const reader = broker();
      await reader.exchange();
      return reader.measurements.get(routeId)?.requests ?? 0;
    },
  };
}

describe('MeasurementLog', () => {
  it('adds up the attempts of two brokers, for both', async () => {
    const { broker } = aWorld();
    const [one, two] = [broker(), broker()];
    one.add('a', success);
    two.add('a', { success: false });
    for (const log of [one, two, one]) await log.exchange();
    for (const log of [one, two]) expect(log.measurements.get('a')).toMatchObject({ requests: 2, successes: 1 });
  });

  it('counts once what was shared although the reply was lost, and resends what was not shared', async () => {
    const { broker, setFault, requests } = aWorld();
    const log = broker();
    log.add('a', success);
    for (const fault of ['reply lost', 'away', 'reply lost'] as const) {
      setFault(fault);
      await expect(log.exchange()).rejects.toThrow(StateUnavailableError);
      log.add('a', success);
    }
    setFault('none');
    await log.exchange();
    await log.exchange();
    expect(await requests()).toBe(4);
  });

  it('loses only unshared counts when a broker dies', async () => {
    const { broker, requests } = aWorld();
    const log = broker();
    log.add('a', success);
    await log.exchange();
    log.add('a', success);
    expect(await requests()).toBe(1);
  });

  it('counts attempts in the hour in which they happened, even if they waited for the state', async () => {
    const { broker, clock, setFault, requests } = aWorld();
    const log = broker();
    setFault('away');
    log.add('a', success);
    clock.now += 20 * hourMs;
    await expect(log.exchange()).rejects.toThrow(StateUnavailableError);
    setFault('none');
    await log.exchange();
    expect(await requests()).toBe(1);
    clock.now += 4 * hourMs;
    expect(await requests()).toBe(0);
  });

  it('does not share counts that have waited for more than a day', async () => {
    const { broker, clock, setFault } = aWorld();
    const log = broker();
    setFault('away');
    log.add('a', success);
    clock.now += 24 * hourMs;
    setFault('none');
    await log.exchange();
    clock.now -= 24 * hourMs;
    await log.exchange();
    expect(log.measurements.size).toBe(0);
  });

  it('loses nothing if an hour comes again because the clock was set back', async () => {
    const { broker, clock, requests } = aWorld();
    const log = broker();
    log.add('a', success);
    await log.exchange();
    clock.now += 5 * hourMs;
    await log.exchange();
    clock.now -= 5 * hourMs;
    log.add('a', success);
    await log.exchange();
    expect(await requests()).toBe(2);
  });

  it('shares many routes in batches', async () => {
    const { broker, requests } = aWorld();
    const log = broker();
    for (let route = 0; route < 1001; route += 1) log.add(`route-${route}`, success);
    await log.exchange();
    expect(await requests('route-0')).toBe(1);
    expect(await requests('route-1000')).toBe(1);
  });
});
