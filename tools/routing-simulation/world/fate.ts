import type { AttemptOutcome, Route } from '@sotto/router';
import { around, randomOf } from '../../../test/kit/random.ts';
import type { Failing } from './disturbances.ts';
import type { SimulatedRequest } from './traffic.ts';
import type { World } from './world.ts';

/** The outcome of an attempt if no timeout ends it first. Durations are in ms from the attempt's start. */
export type Fate =
  | { readonly end: 'fails'; readonly outcome: AttemptOutcome; readonly afterMs: number }
  | { readonly end: 'silent' }
  | {
      readonly end: 'answers';
      readonly ttftMs: number;
      readonly tokensPerSecond: number;
      /** Whether the answer breaks off after its first output. */
      readonly breaks: boolean;
    };

/** The kinds of ordinary failures, and how often each occurs. */
const ordinaryFailures = {
  server_error: 45,
  rate_limited: 25,
  network_failure: 15,
  silent: 10,
  malformed_answer: 5,
} as const satisfies Partial<Record<Failing, number>>;

/**
 * The fate of a request on a route at this time. It is drawn for the request and the provider, so it is the same for
 * every contender, however often it is tried.
 */
export function fateOf(world: World, route: Route, request: SimulatedRequest, startsAt: number): Fate {
  const provider = world.providerOf(route);
  const random = randomOf(world.seed, 6, provider.rank, request.index);
  const [fails, breaks, patience] = [random.next(), random.next(), random.next()];
  let ttftMs = around(random, provider.medianTtftMs, 0.35);
  let tokensPerSecond = around(random, provider.tokensPerSecond, 0.2);
  const kind = random.weighted(ordinaryFailures);
  // Each fault takes its share of the attempts that earlier faults have left.
  let luck = fails;
  const strikes = (share: number): boolean => {
    if (luck < share) return true;
    luck = (luck - share) / (1 - share);
    return false;
  };
  for (const trouble of world.disturbancesOf(route, startsAt)) {
    if (trouble.kind === 'withdrawn') return failure('model_unavailable', patience);
    if (trouble.kind === 'slow') {
      ttftMs *= trouble.ttftFactor;
      tokensPerSecond *= trouble.speedFactor;
    } else if (strikes(trouble.share)) return failure(trouble.how, patience);
  }
  if (strikes(provider.failureRate)) return failure(kind, patience);
  const durationMs = ttftMs + (request.completionTokens / tokensPerSecond) * 1000;
  return {
    end: 'answers',
    ttftMs,
    tokensPerSecond,
    breaks: breaks < provider.breakRate || goesDown(world, route, startsAt, durationMs),
  };
}

/** Whether the provider goes down completely while it answers. */
const goesDown = (world: World, route: Route, startsAt: number, durationMs: number): boolean =>
  world
    .disturbancesOf(route, startsAt + durationMs)
    .some((it) => it.kind === 'failing' && it.share === 1 && it.fromMs > startsAt && breakingOff.has(it.how));
const breakingOff: ReadonlySet<Failing> = new Set(['server_error', 'network_failure', 'silent']);

function failure(how: Failing, patience: number): Fate {
  if (how === 'silent') return { end: 'silent' };
  const [least, most] = durations[how] ?? [50, 500];
  return { end: 'fails', outcome: how, afterMs: least + patience * (most - least) };
}

/** The time until a failure shows, as a range in ms. A failing connection may take all of its time. */
const durations: Partial<Record<AttemptOutcome, readonly [number, number]>> = {
  server_error: [50, 1500],
  rate_limited: [30, 150],
  network_failure: [20, 5000],
  malformed_answer: [300, 2000],
};
