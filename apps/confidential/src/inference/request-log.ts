import { type AttemptOutcome, keysOf, type Route } from '@sotto/router';
import { type Attributes, genAiOperations, genAiProvider, type RequestTrace } from '@sotto/server';
import { type Operation, operationPaths, ServiceError } from '@sotto/wire';
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
  readonly #scheme: string;
  #attemptAt = 0;
  /** The provider whose answer is under way. */
  #answeringProvider: string | undefined;
  /** The attempts so far, and the route of the last one that failed. */
  attempts = 0;
  lastFailed: Route | undefined;

  constructor(
    deps: RequestLogDependencies,
    operation: Operation,
    request: { readonly id: string; readonly protocol: string },
  ) {
    this.#deps = deps;
    this.#operation = operation;
    this.#requestId = request.id;
    this.#scheme = request.protocol;
    this.#startedAt = deps.now();
    this.#arrivedAt = deps.monotonicNow();
    this.#trace = deps.traces?.begin(`POST ${operationPaths[operation]}`, this.#startedAt);
  }

  admitted(): void {
    this.#isAdmitted = true;
    this.#deps.meter.admitted(this.#operation, this.#deps.monotonicNow() - this.#arrivedAt);
    this.#trace?.step('admission', { from: this.#startedAt, until: this.#at() });
  }

  attemptBegun(count: number): void {
    this.attempts = count;
    this.#attemptAt = this.#at();
  }

  attemptFailed(route: Route, outcome: AttemptOutcome): void {
    this.lastFailed = route;
    const { id, providerId, publicProviderId: provider } = route;
    this.#deps.meter.failed(provider, outcome);
    this.#called(provider, outcome);
    const entry = this.#deps.providers.get(providerId)?.entry;
    const variable =
      entry &&
      (keysOf(entry)
        .map(({ env }) => env)
        .join(' or ') ||
        undefined);
    this.#deps.events.attemptFailed({ requestId: this.#requestId, route: id, provider: providerId, variable, outcome });
  }

  /** The attempt has output, `tookMs` after its start. */
  attemptServed({ publicProviderId }: Route, answer: AnswerKind, tookMs: number): void {
    this.#deps.meter.served(publicProviderId, answer, tookMs);
    if (answer === 'streamed') this.#deps.meter.firstChunk(this.#operation, publicProviderId, tookMs);
    this.#answeringProvider = publicProviderId;
  }

  brokeOff({ publicProviderId }: Route): void {
    this.#deps.meter.brokeOff(publicProviderId);
  }

  /** Called when the answer's headers leave. */
  answering(): void {
    this.#deps.meter.answering(this.#operation, this.#deps.monotonicNow() - this.#arrivedAt);
  }

  /** Writes the one log line of an admitted request. */
  ended(status: number, route: Route | undefined, error?: string): void {
    const { attempts } = this;
    const operation = this.#operation;
    this.#answerEnded(error);
    this.#answered({ status, error }, { 'sotto.attempts': attempts });
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
    const refusal = refusalOf(error);
    this.#answerEnded(refusal.error);
    this.#answered(refusal, this.#isAdmitted ? { 'sotto.attempts': this.attempts } : {});
  }

  /** The answer of a provider is over. */
  #answerEnded(error: string | undefined): void {
    if (this.#answeringProvider !== undefined) this.#called(this.#answeringProvider, error);
    this.#answeringProvider = undefined;
  }

  /** Tells of a call to a provider that is over. */
  #called(provider: string, error: string | undefined): void {
    const until = this.#at();
    const name = genAiOperations[this.#operation];
    this.#deps.meter.called(this.#operation, provider, { ms: until - this.#attemptAt, error });
    this.#trace?.step(
      name,
      { from: this.#attemptAt, until },
      { 'gen_ai.operation.name': name, 'gen_ai.provider.name': genAiProvider(provider), ...typeOf(error) },
      'client',
    );
  }

  /** Tells of the whole request. */
  #answered(
    { status, error }: { readonly status: number; readonly error: string | undefined },
    more: Attributes,
  ): void {
    const until = this.#at();
    const answer = { ms: until - this.#startedAt, status, scheme: this.#scheme, error };
    this.#deps.meter.answered(this.#operation, answer);
    this.#trace?.end(
      {
        'http.request.method': 'POST',
        'http.route': operationPaths[this.#operation],
        'http.response.status_code': status,
        'url.scheme': this.#scheme,
        ...typeOf(error),
        ...more,
      },
      until,
    );
  }

  /**
   * Unix ms with fractions: the time of day at which the request came, plus the time since on a clock that never steps.
   */
  #at(): number {
    return this.#startedAt + this.#deps.monotonicNow() - this.#arrivedAt;
  }
}

const typeOf = (error: string | undefined): Attributes => (error === undefined ? {} : { 'error.type': error });

const refusalOf = (error: unknown) =>
  error instanceof ServiceError
    ? { status: error.status, error: error.type }
    : { status: 500, error: 'internal_error' };
