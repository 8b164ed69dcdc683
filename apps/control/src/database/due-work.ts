import { type Repeated, repeat, type Task } from '@sotto/server';
import type pg from 'pg';
import { prepared } from './prepared.ts';

/** When a task has something to do. */
export interface Due {
  /** An SQL condition. `$1` is the present time. */
  readonly question: string;
  /** The interval at which it is asked, in ms: a multiple of `askMs`. */
  readonly everyMs: number;
  /** Whether what this process writes shortens the interval. Default: true. */
  readonly isHintable?: boolean;
}

/** The interval at which Postgres is asked, in ms. */
const askMs = 2_000;
/** In ms. The task asks once for all that this process wrote within this time. */
const gatherMs = 250;
/** The least time between two questions of a task, in ms, however much this process writes. */
const hintedMs = 500;
/** The interval at which a task runs without a wake-up, in ms. */
const unaskedMs = 600_000;

interface Work extends Required<Due> {
  /** Of `performance.now()`. */
  askedAt: number;
  /** Whether this process has written since. */
  isHinted: boolean;
  isRunning: boolean;
  readonly wake: () => void;
}

/** Asks Postgres for all tasks in one statement whether they have something to do, so that an idle service asks every other second. */
export class DueWork implements Task {
  readonly #work = new Set<Work>();
  readonly #asking: Repeated;

  constructor(pool: Pick<pg.Pool, 'query'>, now: () => number, failed: (error: unknown) => void) {
    this.#asking = repeat(askMs, () => this.#ask(pool, new Date(now())), failed, { gatherMs });
  }

  start(): void {
    this.#asking.start();
  }

  stop(): Promise<void> {
    return this.#asking.stop();
  }

  /** Asks soon, because this process has written something. The interval finds what another process writes. */
  wake(): void {
    for (const work of this.#work) work.isHinted = work.isHintable;
    this.#asking.wake();
  }

  /**
   * Returns a task that runs at its start, when its question is answered with yes, and when it is woken. After a failure it pauses for
   * `everyMs`. One that resolves to true has more work and runs again at once.
   */
  when(
    { question, everyMs, isHintable = true }: Due,
    task: () => Promise<unknown>,
    failed: (error: unknown) => void,
  ): Repeated {
    const run = async (): Promise<unknown> => {
      work.isRunning = true;
      return task().finally(() => {
        work.isRunning = false;
      });
    };
    const repeated = repeat(unaskedMs, run, failed, { pauseMs: everyMs });
    const work: Work = {
      question,
      everyMs,
      isHintable,
      askedAt: performance.now(),
      isHinted: false,
      isRunning: false,
      wake: repeated.wake,
    };
    return {
      wake: repeated.wake,
      start: () => {
        this.#work.add(work);
        repeated.start();
      },
      stop: () => {
        this.#work.delete(work);
        return repeated.stop();
      },
    };
  }

  async #ask(pool: Pick<pg.Pool, 'query'>, now: Date): Promise<void> {
    const at = performance.now();
    const asked = [...this.#work].filter(
      ({ askedAt, everyMs, isHinted, isRunning }) => !isRunning && at - askedAt >= (isHinted ? hintedMs : everyMs),
    );
    if (asked.length === 0) return;
    const answers = asked.map(({ question }, place) => `(${question}) as "${place}"`);
    const statement = prepared(`select $1::timestamptz as now, ${answers.join(', ')}`);
    for (const work of asked) Object.assign(work, { askedAt: at, isHinted: false });
    // One question that fails must not keep the other tasks from their work, so without answers all of them look for themselves.
    const { rows } = await statement<Readonly<Record<number, boolean>>>(pool, [now]).catch((error: unknown) => {
      for (const { wake } of asked) wake();
      throw error;
    });
    for (const [place, { wake }] of asked.entries()) if (rows[0]?.[place] === true) wake();
  }
}
