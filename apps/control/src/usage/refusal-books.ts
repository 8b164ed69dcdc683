import { forAllReachable, type ProjectionPort, type RefusalCount, refusalHour, shards } from '@sotto/state';
import type pg from 'pg';
import { bookRefusals } from './refusal-store.ts';

interface RefusalBooksDependencies {
  readonly pool: pg.Pool;
  readonly state: Pick<ProjectionPort, 'readRefusals'>;
  readonly now: () => number;
}

/** The shared state keeps no older hours. */
const keptHours = 26;

/** What was booked of a shard. */
interface Booked {
  /** The hour of the last read. Its counts may have risen since. */
  readonly hour: number;
  /** By their names. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Carries the counts of refusals from the shared state to Postgres. */
export class RefusalBooks {
  readonly #deps: RefusalBooksDependencies;
  readonly #firstHour: number;
  readonly #booked = new Map<number, Booked>();

  constructor(deps: RefusalBooksDependencies) {
    this.#deps = deps;
    this.#firstHour = refusalHour(deps.now()) - keptHours;
  }

  /** Books what was counted since the last call. A shard that cannot be read, or whose counts cannot be booked, is read again from there. */
  async book(): Promise<void> {
    const { pool, state, now } = this.#deps;
    const readAt = now();
    const read = new Map<number, Booked>();
    const raised: RefusalCount[] = [];
    const failure = await forAllReachable(shards, async (shard) => {
      const before = this.#booked.get(shard);
      const { hour, counts } = await state.readRefusals(shard, before?.hour ?? this.#firstHour);
      raised.push(...counts.filter((count) => count.count > (before?.counts.get(nameOf(count)) ?? 0)));
      read.set(shard, { hour, counts: new Map(counts.map((count) => [nameOf(count), count.count])) });
    });
    await bookRefusals(pool, raised, readAt);
    for (const [shard, booked] of read) this.#booked.set(shard, booked);
    if (failure !== undefined) throw failure;
  }
}

const nameOf = ({ hour, epoch, keyHash, kind }: RefusalCount): string => [hour, epoch, keyHash, kind].join(' ');
