import type { StatusAnswer } from '@sotto/contract/control/catalog';
import { windowHours } from '@sotto/router';
import type pg from 'pg';

export interface PlaneUptimeDependencies {
  readonly pool: pg.Pool;
  /** Whether this process of control can serve. */
  readonly isReady: () => Promise<boolean>;
  /** Whether the broker says at its public address that it can. */
  readonly isBrokerReady: () => Promise<boolean>;
  readonly now: () => number;
}

/** What was noted in an hour. Hours and minutes are since 1970. */
export interface NotedHour {
  readonly hour: number;
  /** Minutes in which control wrote a note. */
  readonly noted: number;
  /** Notes that say that a plane was ready. */
  readonly control: number;
  readonly broker: number;
  /** The first minute with a note. */
  readonly first: number;
}

const minuteMs = 60_000;
/** A minute without a note counts only so long after its end, because the next note of a living control is on its way. */
const overdueMs = 45_000;

/**
 * Notes each minute in Postgres which planes are ready, for the status page. Several processes of control share a note: one
 * that is ready is enough. A minute without a note is one in which no process of control could write it.
 */
export class PlaneUptime {
  readonly #deps: PlaneUptimeDependencies;
  #noted: readonly NotedHour[] = [];
  /** The minute at which the notes were read. Those of the minutes before it are in `#noted`. */
  #readAt = 0;

  constructor(deps: PlaneUptimeDependencies) {
    this.#deps = deps;
  }

  /** The last 24 hours, as far as they were noted. */
  get planes(): StatusAnswer['planes'] {
    const overdue = Math.floor((this.#deps.now() - overdueMs) / minuteMs);
    return planesOf(this.#noted, Math.max(this.#readAt, overdue));
  }

  async note(): Promise<void> {
    const { pool, isReady, isBrokerReady, now } = this.#deps;
    const [control, broker] = await Promise.all([isReady(), isBrokerReady().catch(() => false)]);
    const minute = Math.floor(now() / minuteMs);
    await pool.query(
      `insert into plane_minutes as known (minute, control, broker) values ($1, $2, $3)
       on conflict (minute) do update set control = known.control or $2, broker = known.broker or $3`,
      [minute, control, broker],
    );
    await pool.query('delete from plane_minutes where minute < $1', [minute - (windowHours + 1) * 60]);
    const { rows } = await pool.query<NotedHour>(
      `select minute / 60 as hour, count(*)::int as noted, min(minute) as first,
         (count(*) filter (where control))::int as control, (count(*) filter (where broker))::int as broker
       from plane_minutes where minute < $1 group by 1 order by 1`,
      [minute],
    );
    this.#noted = rows;
    this.#readAt = minute;
  }
}

/**
 * The share of minutes in which each plane was ready, by hour. Control was not if it wrote no note; of the broker nothing is
 * known then. Nothing is known of the time before the first note.
 */
export function planesOf(noted: readonly NotedHour[], minute: number): StatusAnswer['planes'] {
  const byHour = new Map(noted.map((each) => [each.hour, each]));
  const first = Math.min(...noted.map((each) => each.first));
  const last = Math.floor(minute / 60);
  const hours = Array.from({ length: windowHours }, (_, index) => last - windowHours + 1 + index);
  const inHours = (upIn: (hour: number, notes: NotedHour | undefined) => number | null) =>
    hours.map((hour) => ({ at: new Date(hour * 60 * minuteMs).toISOString(), ready: upIn(hour, byHour.get(hour)) }));
  return {
    control: inHours((hour, notes) => {
      const passed = Math.min((hour + 1) * 60, minute) - Math.max(hour * 60, first);
      return passed > 0 ? shareOf(notes?.control ?? 0, passed) : null;
    }),
    broker: inHours((_, notes) => (notes === undefined ? null : shareOf(notes.broker, notes.noted))),
  };
}

/** A part of a whole, to four decimals. */
export const shareOf = (part: number, whole: number): number => Math.round((part / whole) * 10_000) / 10_000;
