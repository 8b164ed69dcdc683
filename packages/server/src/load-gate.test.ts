import { describe, expect, it } from 'vitest';
import { LoadGate } from './load-gate.ts';

/** A simulated event loop. A turn runs the tasks that are due, then the tasks that they queued behind it. */
class PaperLoop {
  now = 0;
  rested = 0;
  #behind: (() => void)[] = [];
  #timers: { readonly at: number; readonly task: () => void }[] = [];
  readonly gate = new LoadGate({
    now: () => this.now,
    restedMs: () => this.rested,
    afterThisTurn: (task) => void this.#behind.push(task),
    after: (task, ms) => void this.#timers.push({ at: this.now + ms, task }),
  });

  endTurn(): void {
    const behind = this.#behind;
    this.#behind = [];
    for (const task of behind) task();
    const due = this.#timers.filter(({ at }) => at <= this.now);
    this.#timers = this.#timers.filter(({ at }) => at > this.now);
    for (const { task } of due) task();
  }

  /** Only timers are due before `until`: the loop sleeps. */
  rest(until: number): void {
    if (this.#behind.length > 0) return;
    const next = Math.max(this.now, Math.min(until, ...this.#timers.map(({ at }) => at)));
    this.rested += next - this.now;
    this.now = next;
  }
}

interface Load {
  readonly perMs: number;
  /** The cost of a request: a quarter when it begins, the rest in equal pieces, one per ms. */
  readonly costMs: number;
  readonly pieces: number;
  readonly refusalMs: number;
  readonly forMs: number;
}

/** Sends requests at a constant rate for a while. */
function offer({ perMs, costMs, pieces, refusalMs, forMs }: Load, loop = new PaperLoop()) {
  const waits: { at: number; ms: number }[] = [];
  const refusals: { at: number; ms: number }[] = [];
  const from = loop.now;
  /** The work that is due in each ms, and the requests that end with it. */
  const work: number[] = [];
  const ends: number[] = [];
  let worked = 0;
  let arrived = 0;
  while (loop.now < from + forMs) {
    for (const until = Math.floor(loop.now - from); worked < until; worked += 1) {
      loop.now += work[worked] ?? 0;
      for (let left = ends[worked] ?? 0; left > 0; left -= 1) loop.gate.ended();
    }
    const due = Math.floor((loop.now - from) * perMs);
    for (; arrived < due; arrived += 1) {
      const at = from + arrived / perMs;
      loop.gate.admit({
        begin() {
          waits.push({ at, ms: loop.now - at });
          loop.now += costMs / 4;
          const first = Math.max(worked, Math.floor(loop.now - from)) + 1;
          for (let piece = first; piece < first + pieces; piece += 1) {
            work[piece] = (work[piece] ?? 0) + (costMs * 0.75) / pieces;
          }
          ends[first + pieces - 1] = (ends[first + pieces - 1] ?? 0) + 1;
        },
        refuse() {
          loop.now += refusalMs;
          refusals.push({ at, ms: loop.now - at });
        },
      });
    }
    loop.endTurn();
    loop.rest(from + Math.min((arrived + 1) / perMs, worked + 1) + 0.001);
  }
  for (const left of ends.slice(worked)) for (let one = 0; one < (left ?? 0); one += 1) loop.gate.ended();
  return { waits, refusals, arrived, loop };
}

const after = (some: readonly { at: number; ms: number }[], at: number): number[] =>
  some
    .filter((one) => one.at > at)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
const part = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;

describe('LoadGate', () => {
  it('begins a request at once in an idle process', () => {
    const { gate } = new PaperLoop();
    const begun: string[] = [];
    gate.admit({ begin: () => begun.push('it'), refuse: () => begun.push('nothing') });
    expect(begun).toEqual(['it']);
  });

  it('rejects no request and delays none while the process can serve them', () => {
    const { waits, refusals } = offer({ perMs: 4, costMs: 0.2, pieces: 1, refusalMs: 0.03, forMs: 5000 });
    expect(refusals).toEqual([]);
    expect(Math.max(...waits.map(({ ms }) => ms))).toBeLessThan(5);
  });

  it('keeps a burst in line, in order, and gives turns to running requests', () => {
    const loop = new PaperLoop();
    const begun: number[] = [];
    for (let index = 0; index < 500; index += 1) {
      loop.gate.admit({
        begin() {
          begun.push(index);
          loop.now += 0.2;
        },
        refuse: () => begun.push(-1),
      });
    }
    for (let turns = 0; begun.length < 500 && turns < 1000; turns += 1) {
      const before = loop.now;
      loop.endTurn();
      expect(loop.now - before).toBeLessThan(1);
    }
    expect(begun).toEqual(Array.from({ length: 500 }, (_, index) => index));
  });

  it.each([
    ['short requests', { costMs: 0.2, pieces: 1, perMs: 15 }],
    ['streams, whose work comes long after they began', { costMs: 1, pieces: 300, perMs: 3 }],
  ])('at three times the capacity rejects early and keeps the others fast: %s', (_, load) => {
    const { waits, refusals, arrived } = offer({ ...load, refusalMs: 0.03, forMs: 20_000 });
    expect(waits.length + refusals.length).toBeGreaterThan(arrived - 200);
    const refused = after(refusals, 5000);
    expect(part(refused, 0.5)).toBeLessThan(2);
    expect(part(refused, 0.99)).toBeLessThan(6);
    expect(part(after(waits, 5000), 0.5)).toBeLessThan(3);
    expect(part(after(waits, 5000), 0.99)).toBeLessThan(4);
    // The capacity, less the cost of rejections and the rest that keeps turns short.
    const left = 15_000 - refused.length * 0.03;
    expect(after(waits, 5000).length * load.costMs).toBeGreaterThan(left * 0.75);
  });

  it('uses the remaining time to serve when rejections take nine tenths of it', () => {
    const flood = { perMs: 30, costMs: 1, pieces: 300, refusalMs: 0.03, forMs: 20_000 };
    const { waits, refusals } = offer(flood);
    const left = 15_000 - after(refusals, 5000).length * flood.refusalMs;
    expect(left).toBeLessThan(15_000 * 0.15);
    expect(after(waits, 5000).length * flood.costMs).toBeGreaterThan(left * 0.7);
  });

  it('detects an overload of long streams, even if so few begin that whole windows have none', () => {
    const loop = new PaperLoop();
    const ends: number[] = [];
    let firstRefusedAt = Number.POSITIVE_INFINITY;
    let next = 0;
    for (let [tick, last] = [20, 0]; loop.now < 60_000; tick += 20) {
      for (; ends[0] !== undefined && ends[0] <= loop.now; ends.shift()) loop.gate.ended();
      for (; next <= loop.now; next += 125) {
        loop.gate.admit({
          begin: () => void ends.push(loop.now + 60_000),
          refuse() {
            firstRefusedAt = Math.min(firstRefusedAt, loop.now);
          },
        });
      }
      // Each stream has work every 20 ms, so 66 of them are the capacity.
      const due = Math.max(20, loop.now - last);
      last = loop.now;
      loop.now += ends.length * 0.3 * (due / 20);
      loop.endTurn();
      loop.rest(tick);
    }
    expect(firstRefusedAt).toBeGreaterThan(8000);
    expect(firstRefusedAt).toBeLessThan(13_000);
  });

  it('does not mistake a burst for an overload after many earlier bursts', () => {
    const loop = new PaperLoop();
    let refused = 0;
    for (let burst = 0; burst < 10; burst += 1) {
      for (let index = 0; index < 2000; index += 1) {
        loop.gate.admit({
          begin() {
            loop.now += 0.2;
            loop.gate.ended();
          },
          refuse() {
            refused += 1;
          },
        });
      }
      for (const next = loop.now + 10_000; loop.now < next; loop.rest(next)) loop.endTurn();
    }
    expect(refused).toBe(0);
  });

  it('does not mistake bursts for an overload if their work continues for a while after the last request began', () => {
    const loop = new PaperLoop();
    let refused = 0;
    let open = 0;
    for (let burst = 0; burst < 12; burst += 1) {
      // Twelve requests arrive in each of 210 ms. Three finish in each of 840.
      for (let ms = 0; ms < 1000; ms += 1) {
        for (let one = 0; ms < 210 && one < 12; one += 1) {
          loop.gate.admit({
            begin() {
              open += 1;
            },
            refuse() {
              refused += 1;
            },
          });
        }
        loop.now += 1;
        loop.endTurn();
        for (let left = Math.min(3, open); left > 0; left -= 1) {
          open -= 1;
          loop.gate.ended();
        }
      }
      for (const next = loop.now + 2000; loop.now < next; loop.rest(next)) loop.endTurn();
    }
    expect(refused).toBe(0);
  });

  it.each([30, 100])(
    'rejects none of %i clients that ask again and again, even if the process never rests',
    (clients) => {
      const loop = new PaperLoop();
      let refused = 0;
      let served = 0;
      const waiting: (() => void)[] = [];
      const ask = (): void => {
        loop.gate.admit({
          begin() {
            loop.now += 0.2;
            served += 1;
            waiting.push(ask);
          },
          refuse() {
            refused += 1;
          },
        });
      };
      for (let client = 0; client < clients; client += 1) ask();
      while (loop.now < 10_000) {
        for (const again of waiting.splice(0)) {
          loop.gate.ended();
          again();
        }
        loop.endTurn();
        if (waiting.length === 0) loop.rest(loop.now + 1);
      }
      expect(refused).toBe(0);
      expect(served * 0.2).toBeGreaterThan(9000);
    },
  );

  it('detects an overload after a hundred clients have asked for half a minute without a pause', () => {
    const loop = new PaperLoop();
    const waiting: (() => void)[] = [];
    const ask = (): void => {
      loop.gate.admit({
        begin() {
          loop.now += 0.2;
          waiting.push(ask);
        },
        refuse() {},
      });
    };
    for (let client = 0; client < 100; client += 1) ask();
    while (loop.now < 30_000) {
      for (const again of waiting.splice(0)) {
        loop.gate.ended();
        again();
      }
      loop.endTurn();
      if (waiting.length === 0) loop.rest(loop.now + 1);
    }
    const load = { perMs: 15, costMs: 0.2, pieces: 1, refusalMs: 0.03, forMs: 15_000 };
    const { waits, refusals } = offer(load, loop);
    expect(refusals.length).toBeGreaterThan(50_000);
    expect(part(after(waits, 38_000), 0.99)).toBeLessThan(60);
  });

  it('does not count the many requests before an overload against those in it', () => {
    const before = offer({ perMs: 4, costMs: 0.2, pieces: 1, refusalMs: 0.03, forMs: 60_000 });
    const load = { perMs: 3, costMs: 1, pieces: 300, refusalMs: 0.03, forMs: 10_000 };
    const { waits } = offer(load, before.loop);
    for (let second = 62_000; second < 69_000; second += 1000) {
      const begun = waits.filter(({ at }) => at >= second && at < second + 1000).length;
      expect(begun * load.costMs, `in the second from ${second} ms`).toBeGreaterThan(400);
    }
  });

  it('removes the limit after an overload is over', () => {
    const { loop, refusals } = offer({ perMs: 15, costMs: 0.2, pieces: 1, refusalMs: 0.03, forMs: 5000 });
    expect(refusals.length).toBeGreaterThan(0);
    const later = offer({ perMs: 2, costMs: 0.2, pieces: 1, refusalMs: 0.03, forMs: 5000 }, loop);
    expect(after(later.refusals, loop.now - 4000)).toEqual([]);
    let refused = 0;
    const refuse = (): void => {
      refused += 1;
    };
    for (let index = 0; index < 300; index += 1) loop.gate.admit({ begin() {}, refuse });
    expect(refused).toBe(0);
  });

  it('soon admits a hundred clients that arrive together repeatedly, if the process has time', () => {
    const { loop, refusals } = offer({ perMs: 15, costMs: 0.2, pieces: 1, refusalMs: 0.03, forMs: 10_000 });
    expect(refusals.length).toBeGreaterThan(0);
    let refused = 0;
    let isRoom = false;
    for (const until = loop.now + 5000; loop.now < until && !isRoom; ) {
      refused = 0;
      let open = 100;
      const ended: (() => void)[] = [];
      for (let client = 0; client < 100; client += 1) {
        loop.gate.admit({
          begin() {
            loop.now += 0.2;
            ended.push(() => loop.gate.ended());
            open -= 1;
          },
          refuse() {
            refused += 1;
            open -= 1;
          },
        });
      }
      while (open > 0) {
        for (const end of ended.splice(0)) end();
        loop.endTurn();
        loop.rest(loop.now + 1);
      }
      for (const end of ended.splice(0)) end();
      // They come again after a while, as `retry-after` tells them to.
      for (const again = loop.now + 100; loop.now < again; loop.rest(again)) loop.endTurn();
      isRoom = refused === 0;
    }
    expect(refused).toBe(0);
  });

  it('rejects requests of a burst that would wait too long, once the burst is known to be an overload', () => {
    const { waits, refusals } = offer({ perMs: 3, costMs: 1, pieces: 1, refusalMs: 0.03, forMs: 4000 });
    // A line of two thousand would take two seconds. The gate needs one second to tell the overload from a burst.
    expect(Math.max(...after(waits, 1500))).toBeLessThan(400);
    expect(Math.max(...refusals.map(({ ms }) => ms))).toBeLessThan(1200);
  });
});
