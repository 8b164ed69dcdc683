import { type Mutant, mutantsAt } from '../mutant.ts';

const limits = 'test/contract/conformance/limits.test.ts';

const embedded = { folder: 'embedded', file: 'apps/embedded/src/one-process.ts', only: '\\(embedded\\)' };
const overrides = { ...embedded, file: 'apps/embedded/src/plane-environments.ts' };
const settings = {
  folder: 'embedded',
  file: 'packages/server/src/settings/plane-environment.ts',
  tests: ['packages/server/src/settings/plane-environment.test.ts'] as const,
};
/** A setting that does not reach a plane. */
const lost = (name: string, variable: string, plane = ''): readonly [string, string, string] => [
  name,
  'rowsOf(plane).flatMap(',
  `rowsOf(plane).filter((row) => row.env !== '${variable}'${plane && ` || plane !== '${plane}'`}).flatMap(`,
];

/** What breaks only in embedded mode, or only on a Redis Cluster. */
export const topologyMutants: readonly Mutant[] = [
  ...mutantsAt({ ...embedded, tests: ['test/operate/serving/embedded.test.ts'] }, [
    ['provider-key', '(name: string): string | undefined => process.env[name]', '(): undefined => undefined'],
    ['settler', 'while (await control().settler.settleShard(request.shard))', 'await state.settle(request)'],
  ]),
  ...mutantsAt({ ...overrides, tests: ['test/operate/serving/embedded.test.ts'] }, [
    ['test-rail', 'BILLING_TEST_RAIL: config.BILLING_TEST_RAIL,', "BILLING_TEST_RAIL: 'off',"],
    ['origin', 'CONFIDENTIAL_ORIGIN: origins.confidential,', 'CONFIDENTIAL_ORIGIN: origins.control,'],
  ]),
  ...mutantsAt(settings, [
    lost('apps', 'CONNECTED_APPS'),
    lost('issuer', 'ANONYMOUS_WALLETS'),
    lost('broker-media', 'IMAGE_GENERATION', 'broker'),
    lost('ticket-ttl', 'TICKET_TTL_S'),
    lost('limits', 'RATE_LIMIT_REQUESTS'),
    lost('retention', 'USAGE_RETENTION_MONTHS'),
    lost('traces', 'TRACES_URL', 'broker'),
  ]),
  ...mutantsAt({ ...embedded, tests: ['test/operate/serving/embedded.test.ts'] }, [
    ['broker-metrics', '[broker.metrics.withProcess().registry, control', '[control'],
    ['control-metrics', '.registry, control.metrics.registry]', '.registry]'],
  ]),
  ...mutantsAt(
    { folder: 'cluster', file: 'packages/state/src/shard.ts', tests: ['packages/state/src/shard.test.ts'] },
    [['slot', '`sotto:{w${shard}}:`', '`sotto:w${shard}:`']],
  ),
  ...mutantsAt({ folder: 'cluster', file: 'apps/control/src/cli/serve.ts', tests: [limits], only: 'Redis Cluster' }, [
    ['limits', 'if (cluster || node === undefined)', 'if (node === undefined)'],
  ]),
];
