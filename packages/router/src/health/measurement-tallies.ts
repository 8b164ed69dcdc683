import type { MeasuredAttempt } from './measured-attempt.ts';
import { RouteTally } from './route-tally.ts';

/** Records to share: the totals of one source for these routes and one hour. */
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
 * The counts of one broker, by hour. A record holds the total of a route in an hour, so sending it again changes
 * nothing. If the clock goes back to an hour that was forgotten, that hour counts as another source.
 */
export class MeasurementTallies {
  readonly #newSource: () => string;
  readonly #hours = new Map<number, OpenHour>();

  /** `newSource` returns a random name without `|`. */
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

  /** Takes at most `limit` records that are not shared yet. Undefined if there are none. */
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

  /** Marks a batch as unshared again, if sharing it failed or its result is unknown. */
  giveBack({ hour, records }: MeasurementBatch): void {
    const open = this.#hours.get(hour);
    for (const routeId of records.keys()) open?.unshared.add(routeId);
  }

  /** Forgets the hours for which `isOver` returns true. */
  forget(isOver: (hour: number, isShared: boolean) => boolean): void {
    for (const [hour, { unshared }] of this.#hours) if (isOver(hour, unshared.size === 0)) this.#hours.delete(hour);
  }
}
