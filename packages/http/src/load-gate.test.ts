import { describe, expect, it } from 'vitest';
import { LoadGate } from './load-gate.ts';

/**
 * An event loop on paper: a turn begins with what has arrived since the last one, each arrival costs what `begin` adds to
 * the clock, and ends with what was put behind it.
 */
function aLoop() {
  const clock = { now: 0, rested: 0 };
  let behind: (() => void)[] = [];
  const gate = new LoadGate({
    now: () => clock.now,
    restedMs: () => clock.rested,
    afterThisTurn: (task) => behind.push(task),
  });
  return {
    clock,
    gate,
    endTurn() {
      const tasks = behind;
      behind = [];
      for (const task of tasks) task();
    },
  };
}

/**
 * Offers requests at a rate for a while. Each costs the process `costMs`, a quarter as it begins and the rest in the next
 * turn; a refusal `refusalMs`.
 */
function offer({ perMs, costMs, refusalMs, forMs }: Record<'perMs' | 'costMs' | 'refusalMs' | 'forMs', number>) {
  const { clock, gate, endTurn } = aLoop();
  const waits: number[] = [];
  const refusals: { at: number; tookMs: number }[] = [];
  let arrived = 0;
  let underWay = 0;
  while (clock.now < forMs) {
    const due = Math.floor(clock.now * perMs);
    const before = clock.now;
    clock.now += underWay * costMs * 0.75;
    underWay = 0;
    for (; arrived < due; arrived += 1) {
      const arrivedAt = arrived / perMs;
      const admitted = gate.admit(() => {
        waits.push(clock.now - arrivedAt);
        clock.now += costMs / 4;
        underWay += 1;
      });
      if (admitted) continue;
      clock.now += refusalMs;
      refusals.push({ at: arrivedAt, tookMs: clock.now - arrivedAt });
    }
    endTurn();
    // Nothing to do: the loop sleeps until the next arrival.
    if (clock.now === before) {
      const next = (arrived + 1) / perMs + 0.001;
      clock.rested += next - clock.now;
      clock.now = next;
    }
  }
  return { waits, refusals, arrived };
}

describe('LoadGate', () => {
  it('begins at once what an idle process is asked', () => {
    const { gate } = aLoop();
    const begun: string[] = [];
    expect(gate.admit(() => begun.push('it'))).toBe(true);
    expect(begun).toEqual(['it']);
  });

  it('refuses nothing below what the process can do, and lets nobody wait', () => {
    const { waits, refusals } = offer({ perMs: 3.5, costMs: 0.2, refusalMs: 0.02, forMs: 5000 });
    expect(refusals).toEqual([]);
    expect(Math.max(...waits)).toBeLessThan(5);
  });

  it('never refuses a few, however slow the process is', () => {
    const { clock, gate, endTurn } = aLoop();
    for (let turn = 0; turn < 100; turn += 1) {
      const admitted = Array.from({ length: 15 }, () =>
        gate.admit(() => {
          clock.now += 50;
        }),
      );
      expect(admitted.every(Boolean)).toBe(true);
      for (let times = 0; times < 20; times += 1) endTurn();
    }
  });

  it('lets a burst wait in line, in its order, and gives turns to what is under way', () => {
    const { clock, gate, endTurn } = aLoop();
    const begun: number[] = [];
    const admitted = Array.from({ length: 500 }, (_, index) =>
      gate.admit(() => {
        begun.push(index);
        clock.now += 0.2;
      }),
    );
    expect(admitted.every(Boolean)).toBe(true);
    let turns = 0;
    for (; begun.length < 500 && turns < 1000; turns += 1) {
      const before = clock.now;
      endTurn();
      expect(clock.now - before).toBeLessThan(2.5);
    }
    expect(begun).toEqual(Array.from({ length: 500 }, (_, index) => index));
    expect(turns).toBeGreaterThan(20);
  });

  it('at three times what it can do refuses early, keeps the others’ time, and serves as much as ever', () => {
    const { waits, refusals, arrived } = offer({ perMs: 15, costMs: 0.2, refusalMs: 0.03, forMs: 5000 });
    const settled = refusals.filter(({ at }) => at > 500);
    const slowest = settled.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
    expect(slowest[Math.floor(slowest.length * 0.5)]).toBeLessThan(5);
    expect(slowest[Math.floor(slowest.length * 0.99)]).toBeLessThan(15);
    const late = waits.slice(Math.floor(waits.length / 5)).sort((a, b) => a - b);
    expect(late[Math.floor(late.length * 0.99)]).toBeLessThan(20);
    expect(waits.length + refusals.length).toBeGreaterThan(arrived - 200);
    // Of five requests a millisecond, less what the refusals take.
    expect(waits.length).toBeGreaterThan(5000 * 5 * 0.5);
  });

  it('forgets an overload as soon as it is over', () => {
    const { clock, gate, endTurn } = aLoop();
    const busy = (): void => {
      clock.now += 0.2;
    };
    let refused = 0;
    for (let turn = 0; turn < 500; turn += 1) {
      for (let index = 0; index < 300; index += 1) if (!gate.admit(busy)) refused += 1;
      endTurn();
    }
    expect(refused).toBeGreaterThan(0);
    for (let turn = 0; turn < 2000; turn += 1) endTurn();
    clock.now += 1000;
    clock.rested += 1000;
    expect(Array.from({ length: 300 }, () => gate.admit(busy)).every(Boolean)).toBe(true);
  });
});
