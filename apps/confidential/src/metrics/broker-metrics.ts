import type { AttemptOutcome } from '@sotto/router';
import type { Operation } from '@sotto/wire';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { BrokerEvents } from '../events.ts';

/** What a request tells of itself while it is served. Durations in ms. */
export interface RequestMeter {
  /** It was admitted, so long after it came. */
  admitted(operation: Operation, ms: number): void;
  /** A provider was called for it, and that ended so. */
  attempted(provider: string, outcome: AttemptOutcome | 'served'): void;
  /** Its answer begins, so long after it came. */
  answering(operation: Operation, ms: number): void;
  /** Its stream is over, after so many pieces. */
  streamed(pieces: number): void;
}

/** What is looked at when somebody asks. */
export interface BrokerGauges {
  readonly openHolds: () => number;
  /** Settlements that the ledger has not acknowledged, and of them those that the state has not accepted. */
  readonly pendingSettlements: () => number;
  readonly unsentSettlements: () => number;
  /** With so many of them not acknowledged the broker admits nobody. */
  readonly mostPendingSettlements: number;
  readonly penalties: () => number;
  readonly teeSessions: () => number;
  /** Undefined before there is one. */
  readonly catalogVersion: () => number | undefined;
}

/** Refusals are told by their path. */
const operations: Readonly<Record<string, Operation>> = {
  '/v1/chat/completions': 'chat',
  '/v1/embeddings': 'embeddings',
  '/v1/images/generations': 'image',
  '/v1/audio/speech': 'speech',
};

/** In seconds: from what a broker takes by itself to what a model takes that thinks. */
const buckets = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * What a broker counts. Numbers of all requests together: no label tells a user, a key, a ticket, a model or content, and
 * nothing is counted so finely that one request could be told from the others.
 */
export class BrokerMetrics implements RequestMeter {
  readonly registry = new Registry();
  readonly #requests = this.#counter('sotto_requests_total', 'Requests that were answered, by status.', [
    'operation',
    'status',
    'error',
  ]);
  readonly #shed = this.#counter(
    'sotto_requests_shed_total',
    'Requests refused at the door: more came than can be served.',
  );
  readonly #attempts = this.#counter('sotto_attempts_total', 'Calls to providers, by how they ended.', [
    'provider',
    'outcome',
  ]);
  readonly #pieces = this.#counter('sotto_stream_pieces_total', 'Pieces of streams that were passed on.');
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
  );
  readonly #firstByte = this.#histogram(
    'sotto_first_byte_seconds',
    'From a request’s arrival until its answer began, the provider’s time included.',
  );

  constructor(gauges: BrokerGauges) {
    // From nothing to one is no increase to Prometheus: what alarms at the first time has to be there before.
    for (const verdict of ['unavailable', 'untrusted', 'policy_matched']) this.#enclaves.inc({ verdict }, 0);
    const looked: readonly [string, string, () => number | undefined][] = [
      ['sotto_holds_open', 'Requests under way that have money set aside.', gauges.openHolds],
      ['sotto_settlements_pending', 'Settlements that the ledger has not acknowledged.', gauges.pendingSettlements],
      ['sotto_settlements_unsent', 'Settlements that Redis has not accepted yet.', gauges.unsentSettlements],
      [
        'sotto_settlements_pending_limit',
        'With so many settlements that the ledger has not acknowledged this broker admits nobody.',
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

  /** Adds what Node tells of the process: memory, CPU, the event loop, open files. */
  withProcess(): this {
    collectDefaultMetrics({ register: this.registry });
    return this;
  }

  admitted(operation: Operation, ms: number): void {
    this.#admission.observe({ operation }, ms / 1000);
  }

  attempted(provider: string, outcome: AttemptOutcome | 'served'): void {
    this.#attempts.inc({ provider, outcome });
  }

  answering(operation: Operation, ms: number): void {
    this.#firstByte.observe({ operation }, ms / 1000);
  }

  streamed(pieces: number): void {
    this.#pieces.inc(pieces);
  }

  /** The same events, counted. */
  counting(events: BrokerEvents): BrokerEvents {
    return {
      ...events,
      request: (fields) => {
        const { operation, status, error = '' } = fields;
        this.#requests.inc({ operation, status, error });
        events.request(fields);
      },
      refused: (fields) => {
        const { operation: path, status, error } = fields;
        this.#requests.inc({ operation: operations[path] ?? path, status, error });
        events.refused(fields);
      },
      shed: (fields) => {
        this.#shed.inc(fields.requests);
        events.shed(fields);
      },
      excess: (fields) => {
        this.#excess.inc(Number(fields.excessNusd) / 1e9);
        events.excess(fields);
      },
      settlementsLost: (fields) => {
        this.#lost.inc(fields.settlements);
        events.settlementsLost(fields);
      },
      strays: (fields) => {
        this.#strays.inc(fields.holds);
        events.strays(fields);
      },
      enclaveRefused: (fields) => {
        this.#enclaves.inc({ verdict: fields.verdict });
        events.enclaveRefused(fields);
      },
      enclaveUnknown: (fields) => {
        this.#enclaves.inc({ verdict: 'unavailable' });
        events.enclaveUnknown(fields);
      },
    };
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #histogram(name: string, help: string): Histogram {
    return new Histogram({ name, help, labelNames: ['operation'], buckets, registers: [this.registry] });
  }
}
