import type { AttemptOutcome, Catalog, Route } from '@sotto/router';
import type { SimulatedRequest } from '../world/traffic.ts';

/** What came of one attempt. Instants in ms since the day's start. */
export interface FinishedAttempt {
  readonly route: Route;
  /** Which broker made it. */
  readonly broker: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  /** How it failed before output; undefined where there was output. */
  readonly failure: AttemptOutcome | undefined;
  /** Whether the whole answer arrived. */
  readonly complete: boolean;
  readonly ttftMs: number | undefined;
  readonly tokensPerSecond: number | undefined;
}

/** One way to choose routes. A new one for each day: it has learned nothing yet. */
export interface Contender {
  /** The routes to try for a request that arrives at this instant, in order. */
  plan(request: SimulatedRequest, now: number): readonly Route[];
  /** Told of each attempt at the instant it is over. */
  learn(attempt: FinishedAttempt): void;
}

/** What a contender is given besides the requests. */
export interface Surroundings {
  readonly catalogAt: (ms: number) => Catalog;
  /** Has something happen later, off the path of requests. */
  readonly later: (at: number, happen: () => void) => void;
  readonly random: () => number;
}

export interface ContenderKind {
  readonly name: string;
  readonly enter: (surroundings: Surroundings) => Contender;
}
