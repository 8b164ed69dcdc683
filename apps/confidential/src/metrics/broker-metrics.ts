import { type AttemptOutcome, failoverTable } from '@sotto/router';
import { genAiBuckets, genAiOperations, genAiProvider, httpBuckets, withObservers } from '@sotto/server';
import { addProcessMetrics } from '@sotto/server/process-metrics';
import { type Operation, operationAt, operationPaths } from '@sotto/wire';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { BrokerEvents } from '../events.ts';

/** How an answer comes from its provider: in pieces, so that its first output has a time of its own, or at once. */
export type AnswerKind = 'streamed' | 'whole';
const answerKinds: readonly AnswerKind[] = ['streamed', 'whole'];

/** Values that are read when metrics are scraped. */
export interface BrokerGauges {
  readonly openHolds: () => number;
  /**
   * Settlements that the ledger has not acknowledged. The unsent ones among them were not accepted by the state,
   * either.
   */
  readonly pendingSettlements: () => number;
  readonly unsentSettlements: () => number;
  /** At this many unacknowledged settlements, the broker admits no more requests. */
  readonly mostPendingSettlements: number;
  readonly penalties: () => number;
  readonly teeSessions: () => number;
  /** Undefined before the first catalog. */
  readonly catalogVersion: () => number | undefined;
}

/** In seconds: from what a broker takes by itself to the time of a model that thinks. */
const buckets = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** How long it took, in ms, and how it failed. */
interface Outcome {
  readonly ms: number;
  readonly error: string | undefined;
}

/**
 * Counts for all requests together. No label tells a user, a key, a ticket, a model or content. No count is so fine
 * that one request could be told from the others.
 */
export class BrokerMetrics {
  readonly registry = new Registry();
  readonly #requests = this.#counter('sotto_requests_total', 'Requests that were answered, by status.', [
    'operation',
    'status',
    'error',
  ]);
  readonly #shed = this.#counter('sotto_requests_shed_total', 'Requests shed with 503: more came than can be served.');
  readonly #attempts = this.#counter('sotto_attempts_total', 'Calls to providers, by how they ended.', [
    'provider',
    'outcome',
  ]);
  readonly #brokenOff = this.#counter('sotto_answers_broken_off_total', 'Streams that their provider broke off.', [
    'provider',
  ]);
  readonly #providerFirstByte = this.#histogram(
    'sotto_provider_first_byte_seconds',
    'From a call to a provider until its first output. A whole answer has its first output at its end.',
    ['provider', 'answer'],
  );
  readonly #pieces = this.#counter(
    'sotto_stream_pieces_total',
    'Pieces of streams that were passed on. Those of quiet requests do not count.',
  );
  readonly #excess = this.#counter(
    'sotto_excess_usd_total',
    'Cost beyond the holds it was under: the operator’s loss.',
  );
  readonly #lost = this.#counter('sotto_settlements_lost_total', 'Charges that were lost when this broker ended.');
  readonly #strays = this.#counter('sotto_stray_holds_total', 'Holds in this broker’s name that it knew nothing of.');
  readonly #enclaves = this.#counter('sotto_enclaves_refused_total', 'Enclaves that no content was sent to.', [
    'verdict',
  ]);
  readonly #admission = this.#histogram(
    'sotto_admission_seconds',
    'From a request’s arrival until it was admitted: reading, planning, and one call of Redis.',
    ['operation'],
  );
  readonly #firstByte = this.#histogram(
    'sotto_first_byte_seconds',
    'From a request’s arrival until its answer began, the provider’s time included.',
    ['operation'],
  );

  readonly #inference = this.#histogram(
    'gen_ai_client_inference_duration_seconds',
    'From a call to a provider until its answer or its failure.',
    ['gen_ai_operation_name', 'gen_ai_provider_name', 'error_type'],
    genAiBuckets,
  );
  readonly #firstChunk = this.#histogram(
    'gen_ai_client_inference_time_to_first_chunk_seconds',
    'From a call to a provider until the first piece of its stream.',
    ['gen_ai_operation_name', 'gen_ai_provider_name'],
    genAiBuckets,
  );
  readonly #embeddings = this.#histogram(
    'gen_ai_client_embeddings_duration_seconds',
    'From a call to a provider for embeddings until its answer or its failure.',
    ['gen_ai_operation_name', 'gen_ai_provider_name', 'error_type'],
    genAiBuckets,
  );
  readonly #served = this.#histogram(
    'http_server_request_duration_seconds',
    'From the arrival of a request for inference until the end of its answer.',
    ['http_request_method', 'http_route', 'http_response_status_code', 'url_scheme', 'error_type'],
    httpBuckets,
  );

  constructor(gauges: BrokerGauges) {
    // Prometheus sees no increase when a series first appears. Series with an alert on the first event must exist
    // before it.
    for (const verdict of ['unavailable', 'untrusted', 'policy_matched']) this.#enclaves.inc({ verdict }, 0);
    const looked: readonly [string, string, () => number | undefined][] = [
      ['sotto_holds_open', 'Requests under way that have money set aside.', gauges.openHolds],
      ['sotto_settlements_pending', 'Settlements that the ledger has not acknowledged.', gauges.pendingSettlements],
      ['sotto_settlements_unsent', 'Settlements that Redis has not accepted yet.', gauges.unsentSettlements],
      [
        'sotto_settlements_pending_limit',
        'The broker admits no request while the ledger has this many settlements left to acknowledge.',
        () => gauges.mostPendingSettlements,
      ],
      ['sotto_penalties', 'Routes and providers that are demoted at the moment.', gauges.penalties],
      ['sotto_tee_sessions', 'Verified enclaves that requests may be sent to.', gauges.teeSessions],
      ['sotto_catalog_version', 'The version of the catalog that requests are planned with.', gauges.catalogVersion],
    ];
    for (const [name, help, read] of looked) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers: [this.registry],
        collect() {
          const value = read();
          if (value !== undefined) gauge.set(value);
        },
      });
    }
  }

  /** Adds Node's own metrics of the process: memory, CPU, the event loop, open files. */
  withProcess(): this {
    addProcessMetrics(this.registry);
    return this;
  }

  /** The request was admitted, this long after it came. */
  admitted(operation: Operation, ms: number): void {
    this.#admission.observe({ operation }, ms / 1000);
  }

  /** Creates the series of a provider, so that Prometheus sees its first answer and its first error as an increase. */
  willCall(provider: string): void {
    for (const outcome of ['served', ...Object.keys(failoverTable)]) this.#attempts.inc({ provider, outcome }, 0);
    for (const answer of answerKinds) this.#providerFirstByte.zero({ provider, answer });
    this.#brokenOff.inc({ provider }, 0);
  }

  /** A provider was called for the request and failed. */
  failed(provider: string, outcome: AttemptOutcome): void {
    this.#attempts.inc({ provider, outcome });
  }

  /** A provider has output, this long after it was called: the first of a stream, or the whole answer. */
  served(provider: string, answer: AnswerKind, ms: number): void {
    this.#attempts.inc({ provider, outcome: 'served' });
    this.#providerFirstByte.observe({ provider, answer }, ms / 1000);
  }

  /** A provider's stream began, this long after it was called. */
  firstChunk(operation: Operation, provider: string, ms: number): void {
    this.#firstChunk.observe(callLabels(operation, provider), ms / 1000);
  }

  /** A call to a provider is over, after its answer or with an error. */
  called(operation: Operation, provider: string, { ms, error }: Outcome): void {
    const duration = operation === 'embeddings' ? this.#embeddings : this.#inference;
    duration.observe({ ...callLabels(operation, provider), error_type: error ?? '' }, ms / 1000);
  }

  answered(
    operation: Operation,
    { ms, status, scheme, error }: Outcome & { readonly status: number; readonly scheme: string },
  ): void {
    const route = { http_request_method: 'POST', http_route: operationPaths[operation], url_scheme: scheme };
    this.#served.observe({ ...route, http_response_status_code: status, error_type: error ?? '' }, ms / 1000);
  }

  brokeOff(provider: string): void {
    this.#brokenOff.inc({ provider });
  }

  /** The answer begins, this long after the request came. */
  answering(operation: Operation, ms: number): void {
    this.#firstByte.observe({ operation }, ms / 1000);
  }

  /** The stream is over, after this many pieces. */
  streamed(pieces: number): void {
    this.#pieces.inc(pieces);
  }

  /** Returns the same events, which are now counted, too. */
  counting(events: BrokerEvents): BrokerEvents {
    return withObservers(events, {
      request: ({ operation, status, error = '' }) => this.#requests.inc({ operation, status, error }),
      refused: ({ operation: path, status, error }) =>
        this.#requests.inc({ operation: operationAt(path) ?? path, status, error }),
      shed: ({ requests }) => this.#shed.inc(requests),
      excess: ({ excessNusd }) => this.#excess.inc(Number(excessNusd) / 1e9),
      settlementsLost: ({ settlements }) => this.#lost.inc(settlements),
      strays: ({ holds }) => this.#strays.inc(holds),
      enclaveRefused: ({ verdict }) => this.#enclaves.inc({ verdict }),
      enclaveUnknown: () => this.#enclaves.inc({ verdict: 'unavailable' }),
    });
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #histogram(name: string, help: string, labelNames: string[], bounds = buckets): Histogram {
    return new Histogram({ name, help, labelNames, buckets: bounds, registers: [this.registry] });
  }
}

/** Receives the measurements of a request while it is served. Durations are in ms. */
export type RequestMeter = Omit<BrokerMetrics, 'registry' | 'withProcess' | 'willCall' | 'counting'>;

const callLabels = (operation: Operation, provider: string) => ({
  gen_ai_operation_name: genAiOperations[operation],
  gen_ai_provider_name: genAiProvider(provider),
});
