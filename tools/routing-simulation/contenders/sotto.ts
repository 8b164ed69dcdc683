import {
  attemptsOf,
  failoverTable,
  isPenalized,
  type Measurements,
  MeasurementTallies,
  MeasurementWindow,
  type Needs,
  noNeeds,
  type Penalty,
  penaltyKey,
  planRequest,
  type RouteStatus,
  type RoutingRequest,
  strike,
} from '@sotto/router';
import { initialPreferences, type Preferences } from '@sotto/wire';
import type { ContenderKind, FinishedAttempt } from '../run-day.ts';
import { brokers, type SimulatedRequest } from '../world/traffic.ts';

/** A workspace's preferences, and the `provider` fields of each request. */
interface Settings {
  readonly preferences?: Partial<Preferences>;
  readonly provider?: RoutingRequest['provider'];
}

/** The router itself, with the preferences of one workspace. */
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
        const decision = planRequest(
          { model: request.modelId, provider: request.provider ?? provider },
          needsOf(request),
          context,
        );
        return decision.ok ? attemptsOf(decision.value) : [];
      },
      learn: (attempt) => health.learn(attempt),
    };
  },
});

/** The limit that clients set. Most answers need less. */
const needsOf = ({ promptTokens }: SimulatedRequest): Needs => ({
  ...noNeeds('text'),
  promptTokens,
  maxOutputTokens: 8192,
});

/** The maximum delay until a broker knows a penalty from another broker. It knows its own at once. */
const penaltyDelayMs = 500;
/** How often brokers share their counts. Real brokers do so every few seconds, so this is the harder case. */
const exchangeMs = 120_000;
const hourMs = 3_600_000;
const batchRecords = 1000;

/**
 * The brokers' knowledge of routes. It follows the router's own rules, and is shared as slowly as between real brokers.
 */
export class SharedHealth {
  readonly #later: (at: number, happen: () => void) => void;
  readonly #penalties: Map<string, Penalty>[] = Array.from({ length: brokers }, () => new Map());
  readonly #shared = new Map<string, Penalty>();
  readonly #tallies = new MeasurementTallies(() => 'all brokers');
  readonly #window = new MeasurementWindow(0);
  #measurements: Measurements = new Map();
  #exchanging = false;

  constructor(later: (at: number, happen: () => void) => void) {
    this.#later = later;
  }

  status(broker: number, now: number): RouteStatus {
    const penalties = this.#penalties[broker] ?? new Map();
    return { measurements: this.#measurements, penalized: (route) => isPenalized(penalties, route, now) };
  }

  /** Counts outcomes and sets penalties as the broker's request path does. */
  learn({ route, broker, startedAt, finishedAt, failure, complete, ttftMs, tokensPerSecond }: FinishedAttempt): void {
    if (failure === undefined || failoverTable[failure].penalizes !== 'none') {
      const hour = Math.floor(finishedAt / hourMs);
      this.#tallies.count(hour, route.id, { success: complete, ttftMs, tokensPerSecond });
      this.#exchangeLater(finishedAt);
    }
    const key = failure === undefined ? undefined : penaltyKey(failure, route);
    if (failure === undefined || key === undefined) return;
    const punished = strike(this.#shared.get(key), { kind: failure, startedAt, now: finishedAt });
    this.#shared.set(key, punished);
    this.#penalties[broker]?.set(key, punished);
    const heardAt = (Math.floor(finishedAt / penaltyDelayMs) + 1) * penaltyDelayMs;
    this.#later(heardAt, () => {
      for (const penalties of this.#penalties) penalties.set(key, this.#shared.get(key) ?? punished);
    });
  }

  #exchangeLater(now: number): void {
    if (this.#exchanging) return;
    this.#exchanging = true;
    const at = (Math.floor(now / exchangeMs) + 1) * exchangeMs;
    this.#later(at, () => this.#exchange(at));
  }

  #exchange(now: number): void {
    this.#exchanging = false;
    this.#window.advance(Math.floor(now / hourMs));
    for (let batch = this.#tallies.take(batchRecords); batch; batch = this.#tallies.take(batchRecords)) {
      for (const [routeId, record] of batch.records) this.#window.put(batch.hour, batch.source, routeId, record);
    }
    this.#measurements = this.#window.measurements();
  }
}
