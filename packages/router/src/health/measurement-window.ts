import { isSameMeasurement, type Measurements, measurementOf, type RouteMeasurement } from './measurement.ts';
import { RouteTally } from './route-tally.ts';

/** Hours that measurements cover, including the current one. */
export const windowHours = 24;
const routesAtOnce = 200;

/**
 * The counts of all brokers in the last 24 hours. Each record holds a broker's total for a route and an hour, so taking
 * it again changes nothing. The sums follow each change. Hours that leave the window are subtracted when the clock
 * advances. Hours are Unix hours.
 */
export class MeasurementWindow {
  #hour: number;
  /** Records by hour, source and route. */
  readonly #records = new Map<number, Map<string, Map<string, string>>>();
  readonly #sums = new Map<string, RouteTally>();
  readonly #changed = new Set<string>();
  #measurements: Measurements = new Map();

  /** `hour` is the current one. */
  constructor(hour: number) {
    this.#hour = hour;
  }

  /** The hours of the window, oldest first. */
  get hours(): readonly number[] {
    return Array.from({ length: windowHours }, (_, index) => this.#hour - windowHours + 1 + index);
  }

  includes(hour: number): boolean {
    return hour <= this.#hour && hour > this.#hour - windowHours;
  }

  /**
   * Sets the current hour and drops all records outside the 24 hours up to it. That includes later hours, after a clock
   * was set back.
   */
  advance(hour: number): void {
    if (hour === this.#hour) return;
    this.#hour = hour;
    for (const [known, sources] of this.#records) {
      if (this.includes(known)) continue;
      for (const records of sources.values()) {
        for (const [routeId, record] of records) this.#combine(routeId, record, -1);
      }
      this.#records.delete(known);
    }
  }

  /** Takes a source's record of a route. Ignores a record that is outside the window or cannot be read. */
  put(hour: number, source: string, routeId: string, record: string): void {
    if (!this.includes(hour)) return;
    const records = this.#recordsOf(hour, source);
    const known = records.get(routeId);
    if (known === record || !this.#combine(routeId, record, 1)) return;
    if (known !== undefined) this.#combine(routeId, known, -1);
    records.set(this.#sums.get(routeId)?.routeId ?? routeId, record);
  }

  /**
   * Merges the sources of an hour that is over into one record per route. Iterate it to its end. It pauses every 200
   * routes, so that the caller can do other work. Do not call `put` before the end.
   */
  *settle(hour: number): Generator<void, void> {
    const sources = this.#records.get(hour);
    if (sources === undefined || sources.size < 2) return;
    const merged = new Map<string, string>();
    for (const records of sources.values()) {
      for (const [routeId, record] of records) {
        if (merged.has(routeId)) continue;
        const parts = [...sources.values()].filter((each) => each.has(routeId));
        merged.set(routeId, parts.length === 1 ? record : this.tallyOf(hour, routeId).toRecord());
        if (merged.size % routesAtOnce === 0) yield;
      }
    }
    this.#records.set(hour, new Map([['', merged]]));
  }

  /** Measurements for ordering routes. Anything that has not changed since the last call is the same object. */
  measurements(): Measurements {
    for (const _ of this.update());
    return this.#measurements;
  }

  /** Does the work of `measurements` in advance. It pauses as `settle` does. */
  *update(): Generator<void, void> {
    const next = new Map(this.#measurements);
    let differs = false;
    let updated = 0;
    for (const routeId of this.#changed) {
      if (updated > 0 && updated % routesAtOnce === 0) yield;
      updated += 1;
      const known = next.get(routeId);
      const sum = this.#sums.get(routeId);
      const found: RouteMeasurement | undefined = sum === undefined ? undefined : measurementOf(sum);
      if (known !== undefined && found !== undefined && isSameMeasurement(known, found)) continue;
      if (found === undefined) next.delete(routeId);
      else next.set(routeId, found);
      differs = true;
    }
    this.#changed.clear();
    if (differs) this.#measurements = next;
  }

  /** The counts of a route in the whole window. Undefined if there are none. */
  sumOf(routeId: string): RouteTally | undefined {
    return this.#sums.get(routeId);
  }

  tallyOf(hour: number, routeId: string): RouteTally {
    const tally = new RouteTally(routeId);
    for (const records of this.#records.get(hour)?.values() ?? []) {
      const record = records.get(routeId);
      if (record !== undefined) tally.combine(record);
    }
    return tally;
  }

  #recordsOf(hour: number, source: string): Map<string, string> {
    const sources = this.#records.get(hour) ?? new Map<string, Map<string, string>>();
    this.#records.set(hour, sources);
    const records = sources.get(source) ?? new Map<string, string>();
    sources.set(source, records);
    return records;
  }

  #combine(routeId: string, record: string, sign: 1 | -1): boolean {
    const sum = this.#sums.get(routeId) ?? new RouteTally(routeId);
    if (!sum.combine(record, sign)) return false;
    if (sum.requests === 0) this.#sums.delete(routeId);
    else this.#sums.set(routeId, sum);
    this.#changed.add(routeId);
    return true;
  }
}
