import { setImmediate } from 'node:timers/promises';
import { type Measurements, MeasurementWindow } from '@sotto/router';
import type { HealthPort } from '../ports.ts';

const hourMs = 3_600_000;

/** The Unix hour of an instant in Unix ms. */
export const hourOf = (unixMs: number): number => Math.floor(unixMs / hourMs);

/**
 * Keeps a process' view of what all brokers measured in the last 24 hours. It reads only what has changed, and of hours
 * that are over nothing any more: the present hour and the one before it, in which brokers whose clocks are behind
 * still count. One whose clock is ahead is heard once this clock comes to its hour.
 */
export class MeasurementFollower {
  readonly #state: Pick<HealthPort, 'readMeasurements'>;
  readonly #now: () => number;
  /** How far each hour was read; `settled`: it is over. */
  readonly #read = new Map<number, { cursor: string | undefined; settled: boolean }>();
  readonly window: MeasurementWindow;
  /** What ordering needs of them; never computed on the path of a request. */
  measurements: Measurements = new Map();

  constructor(state: Pick<HealthPort, 'readMeasurements'>, now: () => number) {
    this.#state = state;
    this.#now = now;
    this.window = new MeasurementWindow(hourOf(now()));
  }

  /** Moves the window to the present hour and reads what is new. Where the state is away, what is old goes all the same. */
  async refresh(): Promise<void> {
    const hour = hourOf(this.#now());
    this.window.advance(hour);
    for (const known of this.#read.keys()) if (!this.window.includes(known)) this.#read.delete(known);
    try {
      // The present first: it is what matters most to a process that has just begun.
      for (const wanted of this.window.hours.toReversed()) await this.#follow(wanted, wanted < hour - 1);
    } finally {
      for (const _ of this.window.update()) await setImmediate();
      this.measurements = this.window.measurements();
    }
  }

  async #follow(hour: number, isOver: boolean): Promise<void> {
    const known = this.#read.get(hour) ?? { cursor: undefined, settled: false };
    this.#read.set(hour, known);
    while (!known.settled) {
      const { records, cursor, isLast } = await this.#state.readMeasurements(hour, known.cursor);
      for (const { source, routeId, record } of records) this.window.put(hour, source, routeId, record);
      known.cursor = cursor;
      if (!isLast) continue;
      if (!isOver) return;
      for (const _ of this.window.settle(hour)) await setImmediate();
      known.settled = true;
    }
  }
}
