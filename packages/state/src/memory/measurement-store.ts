import type { MeasurementBatch } from '@sotto/router';
import { maxMeasurementRecords, measurementPageRecords } from '../bounds.ts';
import type { MeasurementPage } from '../ports.ts';

interface Hour {
  count: number;
  /** In the order in which they changed last. */
  readonly records: Map<string, MeasurementPage['records'][number] & { readonly changed: number }>;
}

/** As long as Redis keeps an hour after its last record. */
const keptHours = 26;

/** The measurements that the processes share, in memory: what the scripts do on Redis. */
export class MeasurementStore {
  readonly #hours = new Map<number, Hour>();

  share({ hour: at, source, records }: MeasurementBatch): void {
    const hour = this.#hours.get(at) ?? { count: 0, records: new Map() };
    if (records.size > 0) this.#hours.set(at, hour);
    for (const [routeId, record] of records) {
      const field = `${source}|${routeId}`;
      const isKnown = hour.records.delete(field);
      if (!isKnown && hour.records.size >= maxMeasurementRecords) continue;
      hour.count += 1;
      hour.records.set(field, { source, routeId, record, changed: hour.count });
    }
    for (const old of this.#hours.keys()) if (old < at - keptHours) this.#hours.delete(old);
  }

  read(at: number, cursor: string | undefined): MeasurementPage {
    let since = Number(cursor ?? 0);
    const records: MeasurementPage['records'][number][] = [];
    for (const { changed, ...found } of this.#hours.get(at)?.records.values() ?? []) {
      if (changed <= since) continue;
      since = changed;
      records.push(found);
      if (records.length === measurementPageRecords) return { records, cursor: String(since), isLast: false };
    }
    return { records, cursor: String(since), isLast: true };
  }
}
