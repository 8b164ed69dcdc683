import type { AttemptOutcome, Catalog, Route } from '@sotto/router';
import type { SimulatedRequest } from '../world/world.ts';

/** The outcome of one attempt. Times are in ms since the day's start. */
export interface FinishedAttempt {
  readonly route: Route;
  /** The broker that made the attempt. */
  readonly broker: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  /** How it failed before output. Undefined if there was output. */
  readonly failure: AttemptOutcome | undefined;
  /** Whether the whole answer arrived. */
  readonly complete: boolean;
  readonly ttftMs: number | undefined;
  readonly tokensPerSecond: number | undefined;
}

/** A method to choose routes. Each day uses a new instance that has learned nothing. */
export interface Contender {
  /** Returns the routes to try, in order, for a request that arrives now. */
  plan(request: SimulatedRequest, now: number): readonly Route[];
  /** Called with each attempt when it ends. */
  learn(attempt: FinishedAttempt): void;
}

/** The inputs of a contender besides the requests. */
export interface Surroundings {
  readonly catalogAt: (ms: number) => Catalog;
  /** Schedules work outside the path of requests. */
  readonly later: (at: number, happen: () => void) => void;
  readonly random: () => number;
}

export interface ContenderKind {
  readonly name: string;
  readonly enter: (surroundings: Surroundings) => Contender;
}
