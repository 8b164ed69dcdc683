import { comparablePrice } from '@sotto/money';
import type { Route } from '@sotto/router';
import type { ContenderKind } from './contender.ts';

const memoryMs = 30_000;

/**
 * OpenRouter's default, as its documentation describes it ("Price-Based Load Balancing",
 * https://openrouter.ai/docs/features/provider-routing): providers without a significant outage in the last 30 seconds
 * come first; of these the first is drawn with the inverse square of the price as its weight; the others are fallbacks.
 * What it leaves open is read in its favour: any failure is an outage, every attempt is known at once, and fallbacks come
 * as in its example, the stable ones first, each cheapest first. It knows no tiers: it uses whatever takes plaintext.
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

/** One of the routes, each as likely as the inverse square of its price says. */
function drawByPrice(routes: readonly Route[], random: () => number): Route | undefined {
  const weights = routes.map(({ price }) => comparablePrice(price) ** -2);
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [at, weight] of weights.entries()) {
    left -= weight;
    if (left < 0) return routes[at];
  }
  return routes.at(-1);
}
