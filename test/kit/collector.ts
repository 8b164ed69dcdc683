import { createServer } from 'node:http';
import { listenOnLoopback } from '@sotto/test-servers';

export interface CollectedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A stand-in for an OpenTelemetry collector. */
export interface Collector {
  readonly url: string;
  /** Returns all requests to it, unchanged. */
  heard(): string;
  spans(): CollectedSpan[];
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
    heard: () => [...headers, ...bodies].join('\n'),
    spans: () =>
      bodies.flatMap((body) =>
        (JSON.parse(body) as ExportRequest).resourceSpans.flatMap(({ resource, scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) =>
            spans.map((span) => ({
              ...span,
              service: flat(resource.attributes)['service.name'] ?? '',
              attributes: flat(span.attributes),
            })),
          ),
        ),
      ),
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
