import { describe, expect, it } from 'vitest';
import { createMemoryState, MemoryStore } from '../memory/memory-state.ts';
import type { HealthPort } from '../ports/index.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { hourOf, MeasurementFollower } from './measurement-follower.ts';

const hourMs = 3_600_000;
const routeId = 'lab/one@acme';

/** A follower of in-memory state, and a clock that tests move. */
function aFollower() {
  const clock = { now: 1000 * hourMs + 5000 };
  const state = createMemoryState({ store: new MemoryStore(() => clock.now) });
  const reads: number[] = [];
  let reachable = true;
  const port: Pick<HealthPort, 'readMeasurements'> = {
    async readMeasurements(hour, cursor) {
      if (!reachable) throw new StateUnavailableError('away');
      reads.push(hour);
      return state.readMeasurements(hour, cursor);
    },
  };
  const follower = new MeasurementFollower(port, () => clock.now);
  return {
    clock,
    reads,
    follower,
    setReachable(value: boolean) {
      reachable = value;
    },
    /** Shares measurements of a broker, by the broker's clock. */
    async share(source: string, requests: number, at = clock.now) {
      const records = new Map([[routeId, `${requests};${requests};;;;`]]);
      await state.shareMeasurements({ hour: hourOf(at), source, records });
    },
    async requests() {
      await follower.refresh();
      return follower.measurements.get(routeId)?.requests ?? 0;
    },
  };
}

describe('MeasurementFollower', () => {
  it('adds the measurements of two brokers', async () => {
    const { share, requests } = aFollower();
    await share('one', 30);
    await share('two', 12);
    expect(await requests()).toBe(42);
    await share('one', 31);
    expect(await requests()).toBe(43);
  });

  it('drops the data of a route without traffic hour by hour, without any writes', async () => {
    const { clock, share, requests } = aFollower();
    for (let hour = 0; hour < 24; hour += 1) {
      await share('one', 1);
      expect(await requests()).toBe(hour + 1);
      clock.now += hourMs;
    }
    for (let left = 23; left >= 0; left -= 1) {
      expect(await requests()).toBe(left);
      clock.now += hourMs;
    }
  });

  it('drops old data even while the state is unavailable', async () => {
    const { clock, share, requests, follower, setReachable } = aFollower();
    await share('one', 5);
    expect(await requests()).toBe(5);
    setReachable(false);
    clock.now += 23 * hourMs;
    await expect(requests()).rejects.toThrow(StateUnavailableError);
    expect(follower.measurements.get(routeId)?.requests).toBe(5);
    clock.now += hourMs;
    await expect(requests()).rejects.toThrow(StateUnavailableError);
    expect(follower.measurements.size).toBe(0);
    setReachable(true);
    expect(await requests()).toBe(0);
  });

  it('counts each attempt once for brokers whose clocks differ by up to an hour', async () => {
    const { clock, share, requests } = aFollower();
    clock.now = 1001 * hourMs - 1000;
    await share('ahead', 3, clock.now + 50 * 60_000);
    await share('behind', 4, clock.now - 50 * 60_000);
    expect(await requests()).toBe(4);
    clock.now += 2000;
    expect(await requests()).toBe(7);
    await share('behind', 9, clock.now - 50 * 60_000);
    expect(await requests()).toBe(12);
    clock.now += 2 * hourMs;
    expect(await requests()).toBe(12);
  });

  it('has the same measurements after a clock that went back and forth', async () => {
    const { clock, share, requests } = aFollower();
    await share('one', 3);
    expect(await requests()).toBe(3);
    clock.now -= 48 * hourMs;
    expect(await requests()).toBe(0);
    clock.now += 48 * hourMs;
    expect(await requests()).toBe(3);
  });

  it('reads past hours once, and then only the two that may still change', async () => {
    const { clock, share, requests, reads } = aFollower();
    await share('one', 3, clock.now - 5 * hourMs);
    await requests();
    expect(new Set(reads).size).toBe(24);
    reads.length = 0;
    await requests();
    expect(reads).toEqual([1000, 999]);
    reads.length = 0;
    clock.now += hourMs;
    expect(await requests()).toBe(3);
    expect(reads).toEqual([1001, 1000, 999]);
  });

  it('keeps the same measurements if nothing was counted since', async () => {
    const { share, requests, follower } = aFollower();
    await share('one', 20);
    await requests();
    const before = follower.measurements;
    await requests();
    expect(follower.measurements).toBe(before);
  });
});
