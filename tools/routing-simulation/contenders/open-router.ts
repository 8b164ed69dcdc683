import { comparablePrice } from '@sotto/money';
import type { Route } from '@sotto/router';
import type { ContenderKind } from '../run-day.ts';

const memoryMs = 30_000;

/**
 * OpenRouter's default, as its documentation describes it ("Price-Based Load Balancing",
 * https://openrouter.ai/docs/features/provider-routing). Providers without a significant outage in the last 30 seconds
 * come first. The first of them is drawn with the inverse square of its price as its weight, and the others are
 * fallbacks. Where the documentation is silent, this uses the most favorable reading: every failure is an outage, and
 * every attempt is known at once. Fallbacks follow its example: stable providers first, then by price. It does not know
 * tiers, so it uses every route that accepts plaintext.
 */
export const openRouter = (name: string, maxAttempts: number): ContenderKind => ({
  name,
  enter({ catalogAt, random }) {
    const lastFailures = new Map<string, number>();
    const isStable = (route: Route, now: number): boolean =>
      now - (lastFailures.get(route.id) ?? Number.NEGATIVE_INFINITY) > memoryMs;
    return {
      plan(request, now) {
        const routes = (catalogAt(now).models.get(request.modelId)?.routes ?? [])
          .filter(({ privacyClass }) => privacyClass !== 'e2ee')
          .sort((a, b) => comparablePrice(a.price) - comparablePrice(b.price));
        const stable = routes.filter((route) => isStable(route, now));
        const first = drawByPrice(stable, random);
        const fallbacks = [...stable, ...routes.filter((route) => !stable.includes(route))];
        return (first === undefined ? fallbacks : [first, ...fallbacks.filter((route) => route !== first)]).slice(
          0,
          maxAttempts,
        );
      },
      learn({ route, finishedAt, complete }) {
        if (!complete) lastFailures.set(route.id, finishedAt);
      },
    };
  },
});

/** Draws a route with the inverse square of its price as its weight. */
function drawByPrice(routes: readonly Route[], random: () => number): Route | undefined {
  const weights = routes.map(({ price }) => comparablePrice(price) ** -2);
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [at, weight] of weights.entries()) {
    left -= weight;
    if (left < 0) return routes[at];
  }
  return routes.at(-1);
}
