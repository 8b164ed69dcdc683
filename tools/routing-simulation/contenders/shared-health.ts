import {
  failoverTable,
  isPenalized,
  type Measurements,
  MeasurementTallies,
  MeasurementWindow,
  type Penalty,
  penaltyKey,
  type RouteStatus,
  strike,
} from '@sotto/router';
import { brokers } from '../world/traffic.ts';
import type { FinishedAttempt } from './contender.ts';

/** How soon a broker hears of a penalty that another gave, at most; it knows its own at once. */
const penaltyDelayMs = 500;
/** How often brokers share what they counted. Real ones do so every few seconds: this is the harder case. */
const exchangeMs = 120_000;
const hourMs = 3_600_000;
const batchRecords = 1000;

/** What brokers know of routes, kept by the router's own rules and shared as late as between real brokers. */
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

  /** Counts and punishes as the broker's request path does. */
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
