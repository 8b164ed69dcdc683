import { type Mutant, mutantsAt } from '../mutant.ts';

const oneProcess = 'apps/embedded/src/one-process.ts';
const everyRoute = 'test/contract/conformance/every-route.test.ts';
const limits = 'test/contract/conformance/limits.test.ts';
const money = 'test/money/money.test.ts';

/** What breaks only in embedded mode, or only on a Redis Cluster. The tests run as in `.ci/run`, in every topology. */
export const topologyMutants: readonly Mutant[] = [
  ...mutantsAt({ folder: 'embedded', file: oneProcess, tests: [everyRoute] }, [
    [
      'state',
      'createMemoryState({ store, newClient',
      'createMemoryState({ store: new MemoryStore(Date.now), newClient',
    ],
    ['apps', 'connectedApps: config.connectedApps,', 'connectedApps: undefined,'],
    ['issuer', 'issuer: issuer?.settings,', 'issuer: undefined,'],
    ['test-rail', 'billing: { ...config.billing, plan', 'billing: { ...config.billing, testRail: false, plan'],
    [
      'origin',
      'origin: origins.control,\n    confidentialOrigin: origins.confidential,',
      'origin: origins.control,\n    confidentialOrigin: origins.control,',
    ],
    ['catalog', 'catalogFile: files.catalogFile,', 'catalogFile: files.registryFile,'],
    [
      'broker-media',
      'secrets,\n      media: config.media,',
      'secrets,\n      media: { images: false, speech: false },',
    ],
  ]),
  ...mutantsAt({ folder: 'embedded', file: oneProcess, tests: [limits] }, [
    ['ticket-ttl', 'ticketTtlMs: config.ticketTtlMs,', 'ticketTtlMs: 60_000,'],
    ['limits', 'limits: config.limits,', 'limits: { ...config.limits, requests: 1e9, tokens: 1e9, control: 1e9 },'],
  ]),
  ...mutantsAt({ folder: 'embedded', file: oneProcess, tests: ['test/money/usage/retention.test.ts'] }, [
    ['retention', 'usageRetention: config.usageRetention,', 'usageRetention: undefined,'],
  ]),
  ...mutantsAt({ folder: 'embedded', file: oneProcess, tests: ['test/operate/metrics/metrics.test.ts'] }, [
    ['broker-metrics', '[broker.metrics.withProcess().registry, control', '[control'],
    ['control-metrics', '.registry, control.metrics.registry]', '.registry]'],
  ]),
  ...mutantsAt({ folder: 'embedded', file: oneProcess, tests: ['test/operate/metrics/traces.test.ts'] }, [
    ['traces', 'traces: config.traces,\n      gateway', 'traces: undefined,\n      gateway'],
  ]),
  ...mutantsAt({ folder: 'embedded', file: oneProcess, tests: ['test/operate/serving/secret-files.test.ts'] }, [
    ['provider-key', '(name) => process.env[name]', '() => undefined'],
  ]),
  ...mutantsAt({ folder: 'embedded', file: oneProcess, tests: [money] }, [
    ['settler', 'await control().settler.settleShard(request.shard)', 'await state.settle(request)'],
  ]),
  ...mutantsAt({ folder: 'cluster', file: 'packages/state/src/shard.ts', tests: [everyRoute] }, [
    ['slot', '`sotto:{w${shard}}:`', '`sotto:w${shard}:`'],
  ]),
  ...mutantsAt({ folder: 'cluster', file: 'packages/state/src/redis/health.ts', tests: [everyRoute] }, [
    ['measurements', '`sotto:{measurements}:${hour}`', '`sotto:measurements:${hour}`'],
  ]),
  ...mutantsAt({ folder: 'cluster', file: 'packages/state/src/redis/connection.ts', tests: [everyRoute] }, [
    ['client', 'const connection = cluster\n', 'const connection = cluster && nodes.length > 9\n'],
  ]),
  ...mutantsAt({ folder: 'cluster', file: 'apps/control/src/cli/serve.ts', tests: [everyRoute] }, [
    ['limits', 'if (cluster || node === undefined)', 'if (node === undefined)'],
  ]),
];
