import { createServer } from 'node:http';
import { listenOnLoopback } from '@sotto/test-servers';

export interface CollectedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A metric, with its points as they came last. */
export interface CollectedMetric {
  readonly service: string;
  readonly name: string;
  readonly unit: string;
  readonly points: readonly {
    readonly attributes: Readonly<Record<string, string>>;
    /** Of a histogram its count, else its value. */
    readonly value: number;
    readonly sum?: number;
  }[];
}

/** A stand-in for an OpenTelemetry collector. */
export interface Collector {
  readonly url: string;
  /** The address for metrics. */
  readonly metricsUrl: string;
  /** Returns all requests to it, unchanged. */
  heard(): string;
  spans(): CollectedSpan[];
  /** The last values of each metric, by service and name. */
  metrics(): CollectedMetric[];
  stop(): Promise<void>;
}

type Attribute = {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string };
};

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'service' | 'attributes'> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

interface MetricsRequest {
  readonly resourceMetrics?: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeMetrics: readonly {
      readonly metrics: readonly {
        readonly name: string;
        readonly unit: string;
        readonly histogram?: { readonly dataPoints: readonly MetricPoint[] };
        readonly sum?: { readonly dataPoints: readonly MetricPoint[] };
      }[];
    }[];
  }[];
}

interface MetricPoint {
  readonly attributes: readonly Attribute[];
  readonly count?: string;
  readonly sum?: number;
  readonly asDouble?: number;
}

export async function startCollector(): Promise<Collector> {
  const bodies: string[] = [];
  const headers: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    headers.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    request.on('data', (piece) => {
      body += String(piece);
    });
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const port = await listenOnLoopback(server);
  const flat = (attributes: readonly Attribute[]): Record<string, string> =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']));
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    metricsUrl: `http://127.0.0.1:${port}/v1/metrics`,
    heard: () => [...headers, ...bodies].join('\n'),
    spans: () =>
      bodies.flatMap((body) =>
        ((JSON.parse(body) as Partial<ExportRequest>).resourceSpans ?? []).flatMap(({ resource, scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) =>
            spans.map((span) => ({
              ...span,
              service: flat(resource.attributes)['service.name'] ?? '',
              attributes: flat(span.attributes),
            })),
          ),
        ),
      ),
    metrics() {
      const latest = new Map<string, CollectedMetric>();
      for (const body of bodies) {
        for (const { resource, scopeMetrics } of (JSON.parse(body) as MetricsRequest).resourceMetrics ?? []) {
          const service = flat(resource.attributes)['service.name'] ?? '';
          for (const { name, unit, histogram, sum } of scopeMetrics.flatMap(({ metrics }) => metrics)) {
            const points = ((histogram ?? sum)?.dataPoints ?? []).map((point) => ({
              attributes: flat(point.attributes),
              value: Number(point.count ?? point.asDouble ?? 0),
              ...(point.sum === undefined ? {} : { sum: point.sum }),
            }));
            latest.set(`${service} ${name}`, { service, name, unit, points });
          }
        }
      }
      return [...latest.values()];
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
