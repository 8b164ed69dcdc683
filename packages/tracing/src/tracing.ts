import { type ExportedSpan, exportRequest } from './otlp.ts';

/** What a span may say: how a request went, never whose it was or what it asked. A name that is not here is no name. */
export type Attributes = Readonly<
  Partial<{
    operation: string;
    route: string;
    method: string;
    status: number;
    error: string;
    provider: string;
    outcome: string;
    attempts: number;
  }>
>;

export interface TracingOptions {
  /** `service.name` of all spans. */
  readonly service: string;
  /** Which part of the requests is traced, 0 to 1. */
  readonly ratio: number;
  /** Unix ms, with fractions. */
  readonly now: () => number;
  readonly random: () => number;
  /** So many random bytes as lower-case hex. */
  readonly randomHex: (bytes: number) => string;
  /** Sends an OTLP/JSON export request; throws where it was not taken. */
  readonly send: (body: string) => Promise<void>;
  /** Told how many spans were thrown away because nobody took them. */
  readonly onLost: (spans: number) => void;
}

/** One request while it is traced. Times are Unix ms. */
export interface RequestTrace {
  /** A part of it that has ended. */
  step(name: string, from: number, until: number, attributes?: Attributes): void;
  /** It is over, now if nothing else is said; what comes after the first time is not looked at. */
  end(attributes: Attributes, until?: number): void;
}

/** What is kept until it is sent. */
const maxKept = 4096;

/**
 * Spans of some requests, for an OpenTelemetry collector. Each request is a trace of its own: none is taken over from a caller
 * and none is passed on, so that what the two planes do for one request cannot be put together again.
 */
export class Tracing {
  readonly #options: TracingOptions;
  #kept: ExportedSpan[] = [];
  #lost = 0;

  constructor(options: TracingOptions) {
    this.#options = options;
  }

  /** Undefined where this request is not one of those that are traced. */
  begin(name: string, from = this.#options.now()): RequestTrace | undefined {
    const { ratio, random, randomHex, now } = this.#options;
    if (random() >= ratio) return undefined;
    const traceId = randomHex(16);
    const spanId = randomHex(8);
    const steps: ExportedSpan[] = [];
    let isOver = false;
    return {
      step: (stepName, stepFrom, stepUntil, attributes = {}) => {
        const ids = { traceId, spanId: randomHex(8), parentSpanId: spanId };
        steps.push({ ...ids, name: stepName, from: stepFrom, until: stepUntil, attributes, isServer: false });
      },
      end: (attributes, until = now()) => {
        if (isOver) return;
        isOver = true;
        this.#keep({ traceId, spanId, name, from, until, attributes, isServer: true });
        for (const step of steps) this.#keep(step);
      },
    };
  }

  /** A request that is over already. */
  record(name: string, from: number, attributes: Attributes): void {
    this.begin(name, from)?.end(attributes);
  }

  /** Sends what is kept; what nobody takes is lost, and nobody waits for it. */
  async flush(): Promise<void> {
    const spans = this.#kept;
    this.#kept = [];
    const lost = this.#lost;
    this.#lost = 0;
    if (spans.length > 0) {
      await this.#options.send(exportRequest(this.#options.service, spans)).catch(() => {
        this.#lost += spans.length;
      });
    }
    if (lost > 0) this.#options.onLost(lost);
  }

  #keep(span: ExportedSpan): void {
    if (this.#kept.length < maxKept) this.#kept.push(span);
    else this.#lost += 1;
  }
}
