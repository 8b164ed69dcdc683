import type { MeasuredAttempt } from './measured-attempt.ts';
import { RouteTally } from './route-tally.ts';

/** Records to be shared: all that one source counted of these routes in an hour. */
export interface MeasurementBatch {
  /** Unix hours. */
  readonly hour: number;
  readonly source: string;
  /** Records by route id. */
  readonly records: ReadonlyMap<string, string>;
}

interface OpenHour {
  readonly source: string;
  readonly tallies: Map<string, RouteTally>;
  readonly unshared: Set<string>;
}

/**
 * What one broker counts itself, by the hour it happened in. A record stands for all that was counted of a route in an
 * hour, so that sending it again changes nothing; an hour that was forgotten and comes again, because the clock went
 * back, counts as another source.
 */
export class MeasurementTallies {
  readonly #newSource: () => string;
  readonly #hours = new Map<number, OpenHour>();

  /** `newSource` makes a random name without `|`. */
  constructor(newSource: () => string) {
    this.#newSource = newSource;
  }

  count(hour: number, routeId: string, attempt: MeasuredAttempt): void {
    const open = this.#hours.get(hour) ?? { source: this.#newSource(), tallies: new Map(), unshared: new Set() };
    this.#hours.set(hour, open);
    const tally = open.tallies.get(routeId) ?? new RouteTally(routeId);
    tally.count(attempt);
    open.tallies.set(routeId, tally);
    open.unshared.add(routeId);
  }

  /** Takes at most so many records that are to be shared; undefined: there are none. */
  take(limit: number): MeasurementBatch | undefined {
    for (const [hour, { source, tallies, unshared }] of this.#hours) {
      const records = new Map<string, string>();
      for (const routeId of unshared) {
        if (records.size >= limit) break;
        const tally = tallies.get(routeId);
        if (tally !== undefined) records.set(routeId, tally.toRecord());
        unshared.delete(routeId);
      }
      if (records.size > 0) return { hour, source, records };
    }
    return undefined;
  }

  /** What was taken could not be shared, or nobody knows: it is taken again. */
  giveBack({ hour, records }: MeasurementBatch): void {
    const open = this.#hours.get(hour);
    for (const routeId of records.keys()) open?.unshared.add(routeId);
  }

  /** Forgets the hours that `isOver` names. */
  forget(isOver: (hour: number, isShared: boolean) => boolean): void {
    for (const [hour, { unshared }] of this.#hours) if (isOver(hour, unshared.size === 0)) this.#hours.delete(hour);
  }
}
