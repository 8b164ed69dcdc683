import type { RoutingRequest } from '@sotto/router';
import { around, between, randomOf } from '../../../test/kit/random.ts';
import { models } from './catalogs.ts';

/** The length of the simulated time. */
export const hours = 24;

/** One request on arrival: its sizes, without content. */
export interface SimulatedRequest {
  /** Position in the day. It also seeds the request's random numbers. */
  readonly index: number;
  /** In ms since the day's start. */
  readonly arrivesAt: number;
  readonly modelId: string;
  readonly promptTokens: number;
  /** The share of the prompt that a caching provider has cached. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** The broker that it arrives at. */
  readonly broker: number;
  /** The policy that its client sends, if it decides for itself. */
  readonly provider?: RoutingRequest['provider'];
}

export const brokers = 2;
const hourMs = 3_600_000;
const busiestHour = 15;

/** A day's requests in order of arrival: most in the afternoon, fewest twelve hours later. */
export function drawTraffic(seed: number, perSecond: number): SimulatedRequest[] {
  const random = randomOf(seed, 5);
  const popularity = Object.fromEntries(models.map(({ id }, at) => [id, 1 / (at + 1)]));
  const requests: SimulatedRequest[] = [];
  // Thinning: draw arrivals at the day's highest rate, and keep the share that the hour has.
  const most = perSecond * 1.6;
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random.next()) / most) * 1000;
    if (at >= hours * hourMs) return requests;
    const rate = 1 + 0.6 * Math.cos(((at / hourMs - busiestHour) / 24) * 2 * Math.PI);
    if (!random.chance(rate / 1.6)) continue;
    const promptTokens = Math.ceil(Math.min(around(random, 1200, 1.1), 60_000));
    requests.push({
      index: requests.length,
      arrivesAt: at,
      modelId: random.weighted(popularity),
      promptTokens,
      cachedTokens: random.chance(0.4) ? Math.floor(promptTokens * between(random, 0.5, 0.9)) : 0,
      completionTokens: Math.ceil(Math.min(around(random, 250, 0.9), 8000)),
      broker: random.below(brokers),
    });
  }
}
