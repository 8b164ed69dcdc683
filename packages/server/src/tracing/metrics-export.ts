import { sentMetrics } from './conventions.ts';
import { attribute, nanoseconds, postToCollector } from './tracing.ts';

/** A registry of `prom-client`, as far as it is read here. */
export interface ReadRegistry {
  getMetricsAsJSON(): Promise<readonly ReadMetric[]>;
}

interface ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly values?: readonly {
    readonly value: number;
    readonly labels: Readonly<Record<string, string | number | undefined>>;
    /** Of a histogram: the name with `_bucket`, `_sum` or `_count`. */
    readonly metricName?: string;
  }[];
}

export interface MetricsExportOptions {
  /** `service.name`. */
  readonly service: string;
  /** Of the collector, including the path. Undefined: nothing is sent. */
  readonly url: string | undefined;
  readonly registry: ReadRegistry;
  /** Unix ms. */
  readonly now: () => number;
}

/** Returns what sends the metrics of `sentMetrics`, and no others, to a collector by OTLP over HTTP, as JSON. It rejects if the collector does not take them. */
export function openMetricsExport(options: MetricsExportOptions): (() => Promise<void>) | undefined {
  const { service, url, registry, now } = options;
  if (url === undefined) return undefined;
  const since = now();
  return async () => {
    const metrics = (await registry.getMetricsAsJSON()).flatMap((metric) => toMetric(metric, { since, at: now() }));
    if (metrics.length === 0) return;
    const resource = { attributes: [attribute('service.name', service)] };
    await postToCollector(
      url,
      JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ scope: { name: 'sotto' }, metrics }] }] }),
    );
  };
}

interface Period {
  readonly since: number;
  readonly at: number;
}

const cumulative = 2;

function toMetric({ name, help, values = [] }: ReadMetric, period: Period): object[] {
  const sent = Object.hasOwn(sentMetrics, name) ? sentMetrics[name] : undefined;
  if (sent === undefined) return [];
  const times = { startTimeUnixNano: nanoseconds(period.since), timeUnixNano: nanoseconds(period.at) };
  const attributesOf = (labels: Readonly<Record<string, string | number | undefined>>) =>
    Object.entries(sent.labels).flatMap(([label, key]) => {
      const value = labels[label];
      return value === undefined || value === '' ? [] : [attribute(key, numeric.has(key) ? Number(value) : value)];
    });
  const common = { name: sent.name, unit: sent.unit, description: help };
  if (!values.some(({ metricName }) => metricName !== undefined)) {
    const dataPoints = values.map(({ value, labels }) => ({
      ...times,
      asDouble: value,
      attributes: attributesOf(labels),
    }));
    return [{ ...common, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints } }];
  }
  const series = Map.groupBy(values, ({ labels: { le: _, ...labels } }) => JSON.stringify(attributesOf(labels)));
  const dataPoints = [...series.values()].map((points) => ({
    ...times,
    ...histogramPoint(name, points),
    attributes: attributesOf(points[0]?.labels ?? {}),
  }));
  return [{ ...common, histogram: { aggregationTemporality: cumulative, dataPoints } }];
}

/** Attributes whose values are numbers. */
const numeric: ReadonlySet<string> = new Set(['http.response.status_code']);

/** Prometheus counts each bucket with all below it, OTLP alone. */
function histogramPoint(name: string, points: NonNullable<ReadMetric['values']>) {
  const total = (suffix: string): number => points.find(({ metricName }) => metricName === name + suffix)?.value ?? 0;
  const buckets = points.filter(({ metricName, labels }) => metricName === `${name}_bucket` && labels.le !== '+Inf');
  const count = total('_count');
  const upTo = [...buckets.map(({ value }) => value), count];
  return {
    count: String(count),
    sum: total('_sum'),
    explicitBounds: buckets.map(({ labels }) => Number(labels.le)),
    bucketCounts: upTo.map((value, at) => String(value - (upTo[at - 1] ?? 0))),
  };
}
