import type { MeasurementBatch, Penalties, Penalty } from '@sotto/router';

export interface HealthPort {
  readPenalties(): Promise<Penalties>;
  /** Replaces the penalty of a key by `next` of the current one. */
  updatePenalty(key: string, next: (current: Penalty | undefined) => Penalty): Promise<void>;
  /** Replaces the records of a source, so that sending them again changes nothing. */
  shareMeasurements(batch: MeasurementBatch): Promise<void>;
  /**
   * Returns the records of an hour (Unix hours) that changed since the page with this cursor, from all sources. Read on until
   * `isLast`. An hour keeps `maxMeasurementRecords`; further records are dropped.
   */
  readMeasurements(hour: number, cursor: string | undefined): Promise<MeasurementPage>;
}

export interface MeasurementPage {
  readonly records: readonly { readonly source: string; readonly routeId: string; readonly record: string }[];
  readonly cursor: string;
  readonly isLast: boolean;
}
