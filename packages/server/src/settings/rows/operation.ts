import * as z from 'zod';
import { addresses, logLevel, onOff, portOrOff, seconds, trustProxy, upTo } from '../kinds.ts';
import { broker, control, controlAndBroker, rowOf, start } from '../row.ts';
import { attestationModes } from './evidence.ts';

const collectorUrl = z.string().refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), {
  error: 'takes the address of an OpenTelemetry collector, such as http://collector:4318/v1/traces',
});

/** How the processes run: their proxies, metrics, log, traces and end. */
export const operationRows = [
  start('CONFIDENTIAL_TLS', 'broker.tls.mode', {
    kind: z.literal('off', { error: 'takes `off` in embedded mode, which listens on loopback only' }),
    default: 'off',
    describe: 'Only `off`: both listeners are on loopback.',
  }),
  start('ATTESTATION', 'broker.attestation', {
    kind: z.enum(attestationModes, { error: `takes ${attestationModes.join(', ')}` }),
    default: 'auto',
    describe: 'Source of the evidence about this broker. With `NODE_ENV=production`, `auto` means `off`.',
  }),
  control('METRICS_PORT', 'control.metrics_port', {
    kind: portOrOff,
    describe: 'Port for Prometheus metrics, at `/metrics` on `HOST`.',
    start: { describe: 'Port for Prometheus metrics. With `REDIS_URL`, the broker uses the port after it.' },
  }),
  broker('METRICS_PORT', 'broker.metrics_port', {
    kind: portOrOff,
    describe: 'Port for Prometheus metrics, at `/metrics` on `HOST`.',
  }),
  control('TRUST_PROXY', 'control.trust_proxy', {
    kind: trustProxy,
    describe: 'Proxies whose forwarded headers control believes.',
  }),
  broker('TRUST_PROXY', 'broker.trust_proxy', {
    kind: trustProxy,
    describe: 'Proxies whose forwarded headers the broker believes. Not together with `PROXY_PROTOCOL`.',
  }),
  broker('PROXY_PROTOCOL', 'broker.proxy_protocol', {
    kind: addresses,
    describe: 'TCP balancers that name their clients by the PROXY protocol, version 1 or 2. Needs TLS in the broker.',
  }),
  rowOf('control', 'broker', 'keeper')('LOG_LEVEL', 'log.level', {
    kind: logLevel,
    default: 'info',
    early: true,
    describe: 'Least severe level that is logged.',
  }),
  controlAndBroker('DRAIN_DELAY_S', 'drain.delay_s', {
    kind: seconds(300),
    describe:
      'After SIGTERM, seconds to keep serving while `/readyz` answers 503. The default is 5 in production, else 0.',
  }),
  controlAndBroker('DRAIN_TIMEOUT_S', 'drain.timeout_s', {
    kind: seconds(3600),
    default: 30,
    describe: 'Seconds that running requests get to finish after that.',
  }),
  rowOf('control', 'broker', 'start')('TRACES_URL', 'traces.url', {
    kind: collectorUrl,
    describe: 'Collector that traces are sent to, by OTLP over HTTP. Without it, nothing is traced.',
  }),
  rowOf('control', 'broker', 'start')('TRACES_RATIO', 'traces.ratio', {
    kind: upTo('a number', 1),
    default: 0.01,
    describe: 'Part of the requests that is traced.',
  }),
  rowOf('control', 'broker', 'start')('METRICS_URL', 'metrics.url', {
    kind: collectorUrl,
    describe: 'Collector that metrics are sent to every 15 seconds, by OTLP over HTTP. Without it, none are sent.',
  }),
  start('LOG_LEVEL', 'log.level', {
    kind: logLevel,
    default: 'warn',
    describe: 'Least severe level that is logged.',
  }),
  start('SOTTO_SEED_USAGE', 'data.seed_usage', {
    kind: onOff,
    default: 'off',
    describe: 'Gives the demo account a month of usage, for development.',
  }),
  start('LOG_FORMAT', 'log.format', {
    kind: z.enum(['text', 'json'], { error: 'takes `text` or `json`' }),
    default: 'text',
    describe: 'Format of the log: text for people, or JSON lines.',
  }),
  control('NODE_ENV', undefined, {
    kind: z.string(),
    describe: 'With `production`, control is not ready until Redis is durable.',
    start: { describe: 'With `production`, evidence is never simulated.' },
  }),
  broker('NODE_ENV', undefined, {
    kind: z.string(),
    early: true,
    describe:
      'With `production`, the broker needs durable Redis, `node --disable-sigusr1` and `ulimit -c 0`, and simulates no evidence.',
  }),
];
