import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** The library's own figures of the event loop. It takes them with a timer that wakes an idle process a hundred times a second. */
const timed = /^nodejs_eventloop_lag_/;
const never = 2 ** 31 - 1;

/** Adds Node's metrics of the process to a registry: memory, CPU, open files, and how long the turns of its event loop take. */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: never });
  for (const { name } of registry.getMetricsAsArray()) if (timed.test(name)) registry.removeSingleMetric(name);

  const turns = monitorEventLoopDelay({ samplePerIteration: true });
  turns.enable();
  const gauge = (of: string, read: () => number): void => {
    new Gauge({
      name: `nodejs_eventloop_turn_${of}_seconds`,
      help: `Duration of a turn of the event loop since the last scrape, ${of}.`,
      registers: [registry],
      collect() {
        this.set(turns.count === 0 ? 0 : read() / 1e9);
      },
    });
  };
  gauge('p50', () => turns.percentile(50));
  gauge('p99', () => turns.percentile(99));
  // Collected last, because metrics are collected in the order of their registration.
  gauge('max', () => {
    const { max } = turns;
    turns.reset();
    return max;
  });
}
