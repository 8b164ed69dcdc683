import { setImmediate } from 'node:timers/promises';
import { type Measurements, MeasurementWindow } from '@sotto/router';
import type { HealthPort } from '../ports/index.ts';

const hourMs = 3_600_000;

/** The Unix hour of an instant in Unix ms. */
export const hourOf = (unixMs: number): number => Math.floor(unixMs / hourMs);

/**
 * Maintains a process' view of the measurements of all brokers in the last 24 hours. Reads only changes, and only of the present
 * and the previous hour, in which brokers with slow clocks still count. Measurements of a broker with a fast clock are read once
 * this clock reaches their hour.
 */
export class MeasurementFollower {
  readonly #state: Pick<HealthPort, 'readMeasurements'>;
  readonly #now: () => number;
  /** Read position of each hour. `settled`: the hour cannot change any more. */
  readonly #read = new Map<number, { cursor: string | undefined; settled: boolean }>();
  readonly window: MeasurementWindow;
  /** The measurements for ordering. Never computed while a request waits. */
  measurements: Measurements = new Map();

  constructor(state: Pick<HealthPort, 'readMeasurements'>, now: () => number) {
    this.#state = state;
    this.#now = now;
    this.window = new MeasurementWindow(hourOf(now()));
  }

  /** Moves the window to the present hour and reads new records. Drops old ones even if the state is unavailable. */
  async refresh(): Promise<void> {
    const hour = hourOf(this.#now());
    this.window.advance(hour);
    for (const known of this.#read.keys()) if (!this.window.includes(known)) this.#read.delete(known);
    try {
      // The present hour first, because it matters most to a process that has just started.
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
