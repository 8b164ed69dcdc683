import { describe, expect, it } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { TimeShare } from './time-share.ts';

const isBusy = { type: 'service_unavailable' };

describe('a share of time', () => {
  it('refuses work once it took its part, and takes work again when it has earned some back', () => {
    let now = 0;
    const share = new TimeShare({ part: 0.2, burstMs: 100, now: () => now });
    let runs = 0;
    const work = (): void => {
      runs += 1;
      now += 30;
    };
    expect(() => {
      for (;;) share.run(work);
    }).toThrow(expect.objectContaining(isBusy));
    expect(runs).toBe(5);
    now += 110;
    share.run(work);
    expect(() => share.run(work)).toThrow();
    expect(runs).toBe(6);
    const from = now;
    for (; now < from + 100_000; now += 1) {
      try {
        share.run(work);
      } catch {}
    }
    expect(((runs - 6) * 30) / (now - from)).toBeCloseTo(0.2, 1);
  });

  it('counts work that throws', () => {
    let now = 0;
    const share = new TimeShare({ part: 0.2, burstMs: 20, now: () => now });
    const failing = (): never => {
      now += 60;
      throw new TypeError('injected');
    };
    expect(() => share.run(failing)).toThrow('injected');
    expect(() => share.run(failing)).toThrow(expect.objectContaining(isBusy));
  });
});

describe('a limit of concurrent tasks', () => {
  it('runs them in order, a few at a time, refuses those beyond the line, and survives failures', async () => {
    const limit = new ConcurrencyLimit({ running: 2, waiting: 3 });
    const begun: number[] = [];
    const ends: ((error?: Error) => void)[] = [];
    const start = (id: number): Promise<void> =>
      limit.run(
        () =>
          new Promise((resolve, reject) => {
            begun.push(id);
            ends.push((error) => (error === undefined ? resolve() : reject(error)));
          }),
      );
    const tasks = [0, 1, 2, 3, 4].map(start);
    await expect(start(5)).rejects.toMatchObject(isBusy);
    expect(begun).toEqual([0, 1]);
    ends[0]?.(new Error('injected'));
    await expect(tasks[0]).rejects.toThrow('injected');
    expect(begun).toEqual([0, 1, 2]);
    for (let at = 1; at < 5; at += 1) {
      ends[at]?.();
      await tasks[at];
    }
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    const later = [start(6), start(7)];
    expect(begun.slice(5)).toEqual([6, 7]);
    for (const end of ends) end();
    await Promise.all(later);
  });
});
