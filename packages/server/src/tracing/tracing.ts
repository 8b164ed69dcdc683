import { randomBytes } from 'node:crypto';

/**
 * Allowed attributes of a span, by their names in OpenTelemetry's semantic conventions (`conventions.ts`). They describe how a request
 * went, never its user, its model or its content.
 */
export type Attributes = Readonly<
  Partial<{
    'error.type': string;
    'gen_ai.operation.name': string;
    'gen_ai.provider.name': string;
    'http.request.method': string;
    'http.response.status_code': number;
    'http.route': string;
    'url.scheme': string;
    'sotto.attempts': number;
  }>
>;

/** `client`: a call to a provider. */
type StepKind = 'internal' | 'client';

export interface TracingOptions {
  /** `service.name` of all spans. */
  readonly service: string;
  /** The part of the requests that is traced, 0 to 1. */
  readonly ratio: number;
  /** Unix ms, with fractions. */
  readonly now: () => number;
  readonly random: () => number;
  /** Returns that many random bytes as lower-case hex. */
  readonly randomHex: (bytes: number) => string;
  /** Sends an OTLP/JSON export request. Throws if the collector does not accept it. */
  readonly send: (body: string) => Promise<void>;
  /** Called with the number of spans that were discarded because the collector did not accept them. */
  readonly onLost: (spans: number) => void;
}

/** The trace of one request. Times are Unix ms. */
export interface RequestTrace {
  /** Records a part of the request that has ended. */
  step(
    name: string,
    times: { readonly from: number; readonly until: number },
    attributes?: Attributes,
    kind?: StepKind,
  ): void;
  /** Ends the request, by default now. Later calls have no effect. */
  end(attributes: Attributes, until?: number): void;
}

/** The maximum number of spans that are kept until they are sent. */
const maxKept = 4096;

/**
 * Spans of some requests, for an OpenTelemetry collector. Each request is a trace of its own. Trace ids are neither
 * accepted from callers nor passed on, so that records of the two planes about one request cannot be joined.
 */
export class Tracing {
  readonly #options: TracingOptions;
  #kept: ExportedSpan[] = [];
  #lost = 0;

  constructor(options: TracingOptions) {
    this.#options = options;
  }

  /** Starts the trace of a request. Returns undefined if this request is not sampled. */
  begin(name: string, from = this.#options.now()): RequestTrace | undefined {
    const { ratio, random, randomHex, now } = this.#options;
    if (random() >= ratio) return undefined;
    const traceId = randomHex(16);
    const spanId = randomHex(8);
    const steps: ExportedSpan[] = [];
    let isOver = false;
    return {
      step: (stepName, times, attributes = {}, kind = 'internal') => {
        const ids = { traceId, spanId: randomHex(8), parentSpanId: spanId };
        steps.push({ ...ids, name: stepName, ...times, attributes, kind });
      },
      end: (attributes, until = now()) => {
        if (isOver) return;
        isOver = true;
        this.#keep({ traceId, spanId, name, from, until, attributes, kind: 'server' });
        for (const step of steps) this.#keep(step);
      },
    };
  }

  /** Records a request that has already ended. */
  record(name: string, from: number, attributes: Attributes): void {
    this.begin(name, from)?.end(attributes);
  }

  /** Sends the spans that are kept. Spans that the collector does not accept are lost. */
  async flush(): Promise<void> {
    const spans = this.#kept;
    this.#kept = [];
    if (spans.length > 0) {
      await this.#options.send(exportRequest(this.#options.service, spans)).catch(() => {
        this.#lost += spans.length;
      });
    }
    // At the end, because the last flush of a process has none after it.
    const lost = this.#lost;
    this.#lost = 0;
    if (lost > 0) this.#options.onLost(lost);
  }

  #keep(span: ExportedSpan): void {
    if (this.#kept.length < maxKept) this.#kept.push(span);
    else this.#lost += 1;
  }
}

/** Limits how long spans stay in memory if the collector does not answer. */
const sendTimeoutMs = 5000;

/**
 * Traces a part of the requests and sends the spans to a collector by OTLP over HTTP, as JSON. Call `flush` regularly.
 */
export const openTracing = (options: {
  readonly service: string;
  /** Of the collector, including the path. */
  readonly url: string;
  readonly ratio: number;
  readonly now: () => number;
  readonly onLost: (spans: number) => void;
}): Tracing =>
  new Tracing({
    ...options,
    random: () => randomBytes(4).readUInt32BE() / 2 ** 32,
    randomHex: (bytes) => randomBytes(bytes).toString('hex'),
    send: (body) => postToCollector(options.url, body),
  });

/** Sends a body of OTLP as JSON. Throws if the collector does not take it. */
export async function postToCollector(url: string, body: string): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(sendTimeoutMs),
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error('not taken');
}

/** A span for export. Times are Unix ms, ids lower-case hex. */
interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly from: number;
  readonly until: number;
  readonly attributes: Attributes;
  readonly kind: keyof typeof kinds;
}

const kinds = { internal: 1, server: 2, client: 3 } as const;
const statusError = 2;

/**
 * The body of `POST /v1/traces`, OTLP 1.x with JSON (opentelemetry-proto, `ExportTraceServiceRequest`): ids as hex, 64-bit numbers
 * as text, enumerations as numbers.
 */
const exportRequest = (service: string, spans: readonly ExportedSpan[]): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name', service)] },
        scopeSpans: [{ scope: { name: 'sotto' }, spans: spans.map(toSpan) }],
      },
    ],
  });

const toSpan = ({ traceId, spanId, parentSpanId, name, from, until, attributes, kind }: ExportedSpan) => ({
  traceId,
  spanId,
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
  name,
  kind: kinds[kind],
  startTimeUnixNano: nanoseconds(from),
  endTimeUnixNano: nanoseconds(Math.max(from, until)),
  attributes: Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [attribute(key, value)],
  ),
  ...(isError(attributes) ? { status: { code: statusError } } : {}),
});

/** A server whose caller is at fault has not failed. */
const isError = ({ 'error.type': type, 'http.response.status_code': status = 500 }: Attributes): boolean =>
  type !== undefined && status >= 500;

export const attribute = (key: string, value: string | number) => ({
  key,
  value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
});

/** Rounds to microseconds, because Unix ms as a float are not more precise. */
export const nanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`;
