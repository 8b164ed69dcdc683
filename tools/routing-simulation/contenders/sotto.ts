import { attemptsOf, type Needs, noNeeds, planRequest, type RoutingRequest } from '@sotto/router';
import { initialPreferences, type Preferences } from '@sotto/wire';
import type { SimulatedRequest } from '../world/traffic.ts';
import type { ContenderKind } from './contender.ts';
import { SharedHealth } from './shared-health.ts';

/** What a workspace has set, and what each of its requests sends. */
interface Settings {
  readonly preferences?: Partial<Preferences>;
  readonly provider?: RoutingRequest['provider'];
}

/** The router itself, with one workspace's settings. */
export const sotto = (name: string, { preferences, provider }: Settings): ContenderKind => ({
  name,
  enter({ catalogAt, later, random }) {
    const health = new SharedHealth(later);
    const settings = { ...initialPreferences, ...preferences };
    return {
      plan(request, now) {
        const context = {
          catalog: catalogAt(now),
          preferences: settings,
          status: health.status(request.broker, now),
          random,
        };
        const decision = planRequest({ model: request.modelId, provider }, needsOf(request), context);
        return decision.ok ? attemptsOf(decision.value) : [];
      },
      learn: (attempt) => health.learn(attempt),
    };
  },
});

/** The ceiling is what clients set: more than most answers need. */
const needsOf = ({ promptTokens }: SimulatedRequest): Needs => ({
  ...noNeeds('text'),
  promptTokens,
  maxOutputTokens: 8192,
});
