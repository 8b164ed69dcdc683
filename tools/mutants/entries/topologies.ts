import { type Mutant, mutantsAt } from '../mutant.ts';

const everyRoute = 'test/contract/conformance/every-route.test.ts';
const limits = 'test/contract/conformance/limits.test.ts';

const embedded = { folder: 'embedded', file: 'apps/embedded/src/one-process.ts', only: '\\(embedded\\)' };

/** What breaks only in embedded mode, or only on a Redis Cluster. */
export const topologyMutants: readonly Mutant[] = [
  ...mutantsAt({ ...embedded, tests: ['test/operate/serving/embedded.test.ts'] }, [
    ['apps', 'connectedApps: config.connectedApps,', 'connectedApps: undefined,'],
    [
      'test-rail',
      'billing: { ...config.billing, plan',
      'billing: { ...config.billing, rails: { ...config.billing.rails, test: false }, plan',
    ],
    [
      'origin',
      'origin: origins.control,\n    confidentialOrigin: origins.confidential,',
      'origin: origins.control,\n    confidentialOrigin: origins.control,',
    ],
    ['provider-key', '(name) => process.env[name]', '() => undefined'],
    ['settler', 'while (await control().settler.settleShard(request.shard))', 'await state.settle(request)'],
  ]),
  ...mutantsAt({ ...embedded, tests: [everyRoute] }, [
    ['issuer', 'issuer: issuer?.settings,', 'issuer: undefined,'],
    [
      'broker-media',
      'secrets,\n      media: config.media,',
      'secrets,\n      media: { images: false, speech: false },',
    ],
  ]),
  ...mutantsAt({ ...embedded, tests: [limits] }, [
    ['ticket-ttl', 'ticketTtlMs: config.ticketTtlMs,', 'ticketTtlMs: 60_000,'],
    ['limits', 'limits: config.limits,', 'limits: { ...config.limits, requests: 1e9, tokens: 1e9, control: 1e9 },'],
  ]),
  ...mutantsAt({ ...embedded, tests: ['test/money/usage/retention.test.ts'] }, [
    ['retention', 'usageRetention: config.usageRetention,', 'usageRetention: undefined,'],
  ]),
  ...mutantsAt({ ...embedded, tests: ['test/operate/metrics/metrics.test.ts'] }, [
    ['broker-metrics', '[broker.metrics.withProcess().registry, control', '[control'],
    ['control-metrics', '.registry, control.metrics.registry]', '.registry]'],
  ]),
  ...mutantsAt({ ...embedded, tests: ['test/operate/metrics/traces.test.ts'] }, [
    ['traces', 'traces: config.traces,\n      gateway', 'traces: undefined,\n      gateway'],
  ]),
  ...mutantsAt(
    { folder: 'cluster', file: 'packages/state/src/shard.ts', tests: ['packages/state/src/shard.test.ts'] },
    [['slot', '`sotto:{w${shard}}:`', '`sotto:w${shard}:`']],
  ),
  ...mutantsAt({ folder: 'cluster', file: 'apps/control/src/cli/serve.ts', tests: [limits], only: 'Redis Cluster' }, [
    ['limits', 'if (cluster || node === undefined)', 'if (node === undefined)'],
  ]),
];
