import { type AttemptOutcome, type Catalog, nextStep, type Route } from '@sotto/router';
import { randomOf } from '../../test/kit/random.ts';
import { fateOf } from './world/fate.ts';
import type { SimulatedRequest } from './world/traffic.ts';
import type { World } from './world/world.ts';

/** How one request ended for its client. */
export interface Ending {
  readonly request: SimulatedRequest;
  readonly attempts: number;
  /** The route whose output reached the client, complete or not. Undefined without output. */
  readonly route: Route | undefined;
  /** Whether the whole answer arrived. */
  readonly success: boolean;
  /** Time from the request's arrival to its first output, including failed attempts. */
  readonly ttftMs: number | undefined;
}

/** A provider's default timeouts: for the first byte of each candidate except the last, and in total. */
const firstByteMs = 30_000;
const totalMs = 600_000;

/** Lets one contender serve a world's day. Calls `onEnding` once for each request, in the order in which they end. */
export function runDay(world: World, kind: ContenderKind, onEnding: (ending: Ending) => void): void {
  const { timeline, serve } = enterDay(world, kind);
  const arrive = (index: number): void => {
    const request = world.requests[index];
    if (request === undefined) return;
    timeline.at(request.arrivesAt, () => {
      serve(request, onEnding);
      arrive(index + 1);
    });
  };
  arrive(0);
  timeline.run();
}

/** A day on which one contender serves. `serve` takes a request that arrives now. */
export function enterDay(
  world: World,
  kind: ContenderKind,
): { timeline: Timeline; serve: (request: SimulatedRequest, onEnding: (ending: Ending) => void) => void } {
  const timeline = new Timeline();
  const random = randomOf(world.seed, 7);
  const contender = kind.enter({
    catalogAt: world.catalogAt,
    later: (at, happen) => timeline.at(at, happen),
    random: () => random.next(),
  });
  return { timeline, serve: (request, onEnding) => serve({ world, contender, timeline, request, onEnding }) };
}

interface Serving {
  readonly world: World;
  readonly contender: Contender;
  readonly timeline: Timeline;
  readonly request: SimulatedRequest;
  readonly onEnding: (ending: Ending) => void;
}

function serve(serving: Serving): void {
  const { contender, request, onEnding } = serving;
  const routes = contender.plan(request, request.arrivesAt);
  const [first, ...others] = routes;
  if (first !== undefined) attempt(serving, first, others, 1);
  else onEnding({ request, attempts: 0, route: undefined, success: false, ttftMs: undefined });
}

function attempt(serving: Serving, route: Route, others: readonly Route[], attempts: number): void {
  const { world, contender, timeline, request, onEnding } = serving;
  const startedAt = timeline.now;
  const fate = fateOf(world, route, request, startedAt);
  const left = request.arrivesAt + totalMs - startedAt;
  const patienceMs = others.length > 0 ? Math.min(firstByteMs, left) : left;
  const base = { route, broker: request.broker, startedAt };

  const firstSignMs =
    fate.end === 'fails' ? fate.afterMs : fate.end === 'answers' ? fate.ttftMs : Number.POSITIVE_INFINITY;
  if (fate.end === 'answers' && firstSignMs <= patienceMs) {
    const ttftMs = startedAt + fate.ttftMs - request.arrivesAt;
    const writingMs = (request.completionTokens / fate.tokensPerSecond) * 1000;
    const success = !fate.breaks;
    timeline.at(startedAt + fate.ttftMs + writingMs, () => {
      contender.learn({
        ...base,
        finishedAt: timeline.now,
        failure: undefined,
        complete: success,
        ttftMs: fate.ttftMs,
        tokensPerSecond: success ? fate.tokensPerSecond : undefined,
      });
      onEnding({ request, attempts, route, success, ttftMs });
    });
    return;
  }
  const outcome = fate.end === 'fails' && firstSignMs <= patienceMs ? fate.outcome : 'timeout';
  timeline.at(startedAt + Math.min(firstSignMs, patienceMs), () => {
    contender.learn({
      ...base,
      finishedAt: timeline.now,
      failure: outcome,
      complete: false,
      ttftMs: undefined,
      tokensPerSecond: undefined,
    });
    const [next, ...rest] = others;
    const outOfTime = timeline.now >= request.arrivesAt + totalMs;
    const { step } = nextStep(outcome, { attempt: attempts, remaining: others.length });
    if (next !== undefined && !outOfTime && step === 'try_next') {
      attempt(serving, next, rest, attempts + 1);
    } else {
      onEnding({ request, attempts, route: undefined, success: false, ttftMs: undefined });
    }
  });
}

interface Event {
  readonly at: number;
  /** Orders events at the same time: the one that was scheduled first runs first. */
  readonly order: number;
  readonly happen: () => void;
}

/** The pending events, earliest first, in a binary heap. It is also the simulation's clock. */
export class Timeline {
  readonly #heap: Event[] = [];
  #planned = 0;
  /** In ms since the day's start. */
  now = 0;

  at(at: number, happen: () => void): void {
    const event = { at, order: this.#planned, happen };
    this.#planned += 1;
    let index = this.#heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** Runs all events in order until none is left. */
  run(): void {
    for (let next = this.#takeFirst(); next !== undefined; next = this.#takeFirst()) {
      this.now = next.at;
      next.happen();
    }
  }

  #takeFirst(): Event | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    this.#heap[0] = last;
    let index = 0;
    for (;;) {
      let least = index;
      for (const child of [2 * index + 1, 2 * index + 2]) if (this.#isBefore(child, least)) least = child;
      if (least === index) return first;
      this.#swap(index, least);
      index = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    return a.at === b.at ? a.order < b.order : a.at < b.at;
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
  }
}

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
