import type { AttemptOutcome } from '@sotto/router';
import { around, between, poisson, randomOf } from '../../../test/kit/random.ts';
import { models } from './catalogs.ts';
import { regions, type SimulatedProvider } from './providers.ts';
import { hours } from './traffic.ts';

/** `silent`: the provider accepts the request and does not answer. */
export type Failing = AttemptOutcome | 'silent';

/** A temporary fault of a provider. */
type Trouble =
  /** This share of the attempts fails. 1 is a complete outage. */
  | { readonly kind: 'failing'; readonly how: Failing; readonly share: number }
  | { readonly kind: 'slow'; readonly ttftFactor: number; readonly speedFactor: number }
  /** The provider does not serve one of its models. */
  | { readonly kind: 'withdrawn'; readonly modelId: string };

/** Times in ms since the day's start. */
export type Disturbance = Trouble & { readonly fromMs: number; readonly toMs: number };

const hourMs = 3_600_000;
const minuteMs = 60_000;
/** How often per day each fault occurs at a provider, and its median duration in minutes. */
const frequencies = {
  complete: { perDay: 0.8, minutes: 8 },
  partial: { perDay: 1, minutes: 15 },
  rateLimits: { perDay: 1.5, minutes: 20 },
  slowDown: { perDay: 1.5, minutes: 30 },
  account: { perDay: 0.08, minutes: 60 },
  withdrawn: { perDay: 0.1, minutes: 120 },
} as const;
const longestMinutes = 240;
/** How often per day a whole region fails. */
const regionsDownPerDay = 1.5;

/** The disturbances of each provider during the day, by its rank. */
export function drawDisturbances(
  seed: number,
  { trouble, providers }: { trouble: number; providers: readonly SimulatedProvider[] },
): readonly (readonly Disturbance[])[] {
  const days = (hours / 24) * trouble;
  const regionsDown = randomOf(seed, 3);
  const outages = Array.from({ length: poisson(regionsDown, regionsDownPerDay * days) }, () => ({
    region: regionsDown.below(regions),
    ...spell(regionsDown, 20),
    kind: 'failing' as const,
    how: completeOutage(regionsDown),
    share: 1,
  }));
  return providers.map(({ rank, region }) => {
    const random = randomOf(seed, 4, rank);
    const drawn: Disturbance[] = outages.filter((outage) => outage.region === region);
    const happens = (what: keyof typeof frequencies, draw: () => Trouble): void => {
      const { perDay, minutes } = frequencies[what];
      for (let left = poisson(random, perDay * days); left > 0; left -= 1) {
        drawn.push({ ...draw(), ...spell(random, minutes) });
      }
    };
    happens('complete', () => ({ kind: 'failing', how: completeOutage(random), share: 1 }));
    happens('partial', () => ({ kind: 'failing', how: partialOutage(random), share: between(random, 0.2, 0.8) }));
    happens('rateLimits', () => ({ kind: 'failing', how: 'rate_limited', share: between(random, 0.3, 0.95) }));
    happens('slowDown', () => ({
      kind: 'slow',
      ttftFactor: between(random, 2, 10),
      speedFactor: between(random, 0.25, 0.7),
    }));
    happens('account', () => ({
      kind: 'failing',
      how: random.chance(0.5) ? 'quota_exhausted' : 'authentication_failed',
      share: 1,
    }));
    happens('withdrawn', () => ({ kind: 'withdrawn', modelId: random.pick(models)?.id ?? '' }));
    return drawn;
  });
}

const completeOutage = (random: ReturnType<typeof randomOf>): Failing =>
  random.weighted({ server_error: 5, network_failure: 3, silent: 2 });
const partialOutage = (random: ReturnType<typeof randomOf>): Failing =>
  random.weighted({ server_error: 5, network_failure: 2, silent: 1, malformed_answer: 1 });

function spell(random: ReturnType<typeof randomOf>, medianMinutes: number) {
  const fromMs = random.next() * hours * hourMs;
  return { fromMs, toMs: fromMs + Math.min(around(random, medianMinutes, 1), longestMinutes) * minuteMs };
}
