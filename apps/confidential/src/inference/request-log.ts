import type { AttemptOutcome, Route } from '@sotto/router';
import type { RequestTrace } from '@sotto/server';
import { type Operation, ServiceError } from '@sotto/wire';
import type { AnswerKind } from '../metrics/broker-metrics.ts';
import type { InferenceDependencies } from './deps.ts';

type RequestLogDependencies = Pick<
  InferenceDependencies,
  'now' | 'monotonicNow' | 'events' | 'meter' | 'traces' | 'providers'
>;

/** Shows one request to operators: its log line, its counts and its trace. */
export class RequestLog {
  readonly #deps: RequestLogDependencies;
  readonly #operation: Operation;
  readonly #requestId: string;
  readonly #trace: RequestTrace | undefined;
  readonly #startedAt: number;
  readonly #arrivedAt: number;
  #isAdmitted = false;
  #attemptAt = 0;
  /** The attempts so far, and the route of the last one that failed. */
  attempts = 0;
  lastFailed: Route | undefined;

  constructor(deps: RequestLogDependencies, operation: Operation, requestId: string) {
    this.#deps = deps;
    this.#operation = operation;
    this.#requestId = requestId;
    this.#startedAt = deps.now();
    this.#arrivedAt = deps.monotonicNow();
    this.#trace = deps.traces?.begin(operation, this.#startedAt);
  }

  admitted(): void {
    this.#isAdmitted = true;
    this.#deps.meter.admitted(this.#operation, this.#deps.monotonicNow() - this.#arrivedAt);
    this.#trace?.step('admission', this.#startedAt, this.#at());
  }

  attemptBegun(count: number): void {
    this.attempts = count;
    this.#attemptAt = this.#at();
  }

  attemptFailed(route: Route, outcome: AttemptOutcome): void {
    this.lastFailed = route;
    const { id, providerId, publicProviderId: provider } = route;
    this.#deps.meter.failed(provider, outcome);
    this.#trace?.step('attempt', this.#attemptAt, this.#at(), { provider, outcome });
    const variable = this.#deps.providers.get(providerId)?.entry.api_key_env;
    this.#deps.events.attemptFailed({ requestId: this.#requestId, route: id, provider: providerId, variable, outcome });
  }

  /** The attempt has output, `tookMs` after its start. */
  attemptServed({ publicProviderId }: Route, answer: AnswerKind, tookMs: number): void {
    this.#deps.meter.served(publicProviderId, answer, tookMs);
  }

  /** The provider broke off its stream. */
  brokeOff({ publicProviderId }: Route): void {
    this.#deps.meter.brokeOff(publicProviderId);
  }

  /**
   * Called when the answer's headers leave. The attempt's step ends here; the span of the whole request covers the
   * answer.
   */
  answering({ publicProviderId: provider }: Route): void {
    this.#deps.meter.answering(this.#operation, this.#deps.monotonicNow() - this.#arrivedAt);
    this.#trace?.step('attempt', this.#attemptAt, this.#at(), { provider, outcome: 'served' });
  }

  /** Writes the one log line of an admitted request. */
  ended(status: number, route: Route | undefined, error?: string): void {
    const { attempts } = this;
    const operation = this.#operation;
    this.#trace?.end({ operation, status, attempts, ...(error === undefined ? {} : { error }) }, this.#at());
    this.#deps.events.request({
      requestId: this.#requestId,
      operation,
      status,
      error,
      route: route?.id,
      attempts,
      durationMs: Math.round(this.#deps.monotonicNow() - this.#arrivedAt),
    });
  }

  /** Ends the trace of a request that ends in an error. The server writes its log line. */
  refused(error: unknown): void {
    const attempts = this.#isAdmitted ? { attempts: this.attempts } : {};
    this.#trace?.end({ operation: this.#operation, ...attempts, ...refusalOf(error) }, this.#at());
  }

  /**
   * Unix ms with fractions: the time of day at which the request came, plus the time since on a clock that never steps.
   */
  #at(): number {
    return this.#startedAt + this.#deps.monotonicNow() - this.#arrivedAt;
  }
}

/** Returns the trace attributes of a refused request. */
export const refusalOf = (error: unknown) =>
  error instanceof ServiceError
    ? { status: error.status, error: error.type }
    : { status: 500, error: 'internal_error' };
