/** A span as it is sent. Times are Unix ms, ids lower-case hex. */
export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly from: number;
  readonly until: number;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
  /** Whether it is a request that was served, not a part of one. */
  readonly isServer: boolean;
}

const kinds = { internal: 1, server: 2 } as const;
const statusError = 2;

/**
 * The body of `POST /v1/traces`, OTLP 1.x with JSON (opentelemetry-proto, `ExportTraceServiceRequest`): ids as hex, 64-bit numbers
 * as text, enumerations as numbers.
 */
export const exportRequest = (service: string, spans: readonly ExportedSpan[]): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name', service)] },
        scopeSpans: [{ scope: { name: 'sotto' }, spans: spans.map(toSpan) }],
      },
    ],
  });

const toSpan = ({ traceId, spanId, parentSpanId, name, from, until, attributes, isServer }: ExportedSpan) => ({
  traceId,
  spanId,
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
  name,
  kind: isServer ? kinds.server : kinds.internal,
  startTimeUnixNano: nanoseconds(from),
  endTimeUnixNano: nanoseconds(Math.max(from, until)),
  attributes: Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [attribute(`sotto.${key}`, value)],
  ),
  ...(attributes.error === undefined ? {} : { status: { code: statusError } }),
});

const attribute = (key: string, value: string | number) => ({
  key,
  value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
});

/** Whole microseconds: more a float of Unix ms does not have. */
const nanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`;
