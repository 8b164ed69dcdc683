/** Test files that cost minutes, or have tests that do. */
export interface Thorough {
  /** A glob of test files. */
  readonly files: string;
  /**
   * `files`: `npm test` leaves the files out. `tests`: it runs them without their `thoroughly` tests, and in their first topology
   * only.
   */
  readonly leftOut: 'files' | 'tests';
  /** Globs of sources. If one of them changed, `.ci/run` runs all of the files. */
  readonly changes: readonly string[];
}

const embedded = 'apps/embedded/src/**';
const state = 'packages/state/src/**';
const money = ['packages/money/src/**', 'apps/control/src/{ledger,settler,shards,projection}/**'];
const broker = 'apps/confidential/src/{admission,attempts,chat,inference,settlement}/**';

/**
 * What `npm test` leaves to `.ci/run`. That runs the entries that a change may break, and a tenth of the others. For money, tickets
 * and privacy a faster test of the same promise stays in `npm test`.
 */
export const thorough: readonly Thorough[] = [
  { files: 'test/faults/chaos/*.test.ts', leftOut: 'files', changes: [state, ...money, broker] },
  {
    files: 'test/faults/hostile/*.test.ts',
    leftOut: 'files',
    changes: [
      'packages/server/src/**',
      'packages/wire/src/sse.ts',
      'apps/confidential/src/app.ts',
      'apps/control/src/app.ts',
    ],
  },
  {
    files: 'test/operate/start/*.test.ts',
    leftOut: 'files',
    changes: [embedded, 'scripts/**', 'package.json', 'README.md', 'docs/start/**', 'docs/tools/**'],
  },
  {
    files: 'test/operate/lifecycle/{cluster,operators-day,restore,rolling-restart,secret-rotation,upgrade}.test.ts',
    leftOut: 'files',
    changes: [
      'apps/control/src/{cli,database,projection,shards}/**',
      'apps/control/migrations/**',
      'packages/state/src/{envelopes,epochs,membership,redis,steps}/**',
      'packages/server/src/leave-server.ts',
      'docs/operate/**',
    ],
  },
  {
    files: 'test/operate/deploy/{built-images,images,systemd-machine,vm-image}.test.ts',
    leftOut: 'files',
    changes: ['deploy/{images,systemd,confidential-vm}/**', 'scripts/bundle.mjs'],
  },
  {
    files: 'test/operate/deploy/make-release.test.ts',
    leftOut: 'files',
    changes: ['deploy/release/**', 'packages/client/src/releases/**', 'packages/client/build/**'],
  },
  {
    files: 'test/operate/deploy/{certificates,compose-deployment}.test.ts',
    leftOut: 'files',
    changes: ['deploy/compose/**', 'docker-compose.yml', 'apps/confidential/src/tls/**'],
  },
  {
    files: 'test/operate/deploy/kubernetes{,-changes}.test.ts',
    leftOut: 'files',
    changes: ['deploy/kubernetes/**', 'docs/operate/kubernetes.md', 'packages/server/src/settings/**'],
  },
  { files: 'test/operate/deploy/deploy-guide.test.ts', leftOut: 'files', changes: ['deploy/**', 'docs/operate/**'] },
  {
    files: 'apps/embedded/src/postgres/postgres.integration.test.ts',
    leftOut: 'files',
    changes: ['apps/embedded/src/postgres/**'],
  },
  {
    files: 'test/contract/agents/*.test.ts',
    leftOut: 'files',
    changes: [
      ...['packages/dialects/src/**', 'packages/client/src/{agents,command,proxy,purse}/**', 'docs/tools/**'],
      'apps/control/src/documentation/**',
    ],
  },
  {
    files: 'test/contract/sdks/{clients,other-languages}.test.ts',
    leftOut: 'files',
    changes: ['apps/confidential/src/{answers,chat}/**', 'packages/server/src/**', 'packages/providers/src/openai/**'],
  },
  {
    files: 'test/contract/adapters/*.test.ts',
    leftOut: 'files',
    changes: ['packages/providers/src/**', 'apps/confidential/src/{attempts,chat,embeddings}/**'],
  },
  {
    files: 'test/contract/own-client/kills.test.ts',
    leftOut: 'files',
    changes: ['packages/client/src/{agents,command}/**'],
  },
  {
    files: 'test/contract/own-client/{client-guide,package,playground-page}.test.ts',
    leftOut: 'files',
    changes: [
      'packages/client/package.json',
      'packages/client/README.md',
      'docs/tools/**',
      'docs/start/**',
      'apps/dashboard/src/{standalone,pages/playground}/**',
    ],
  },
  {
    files: 'tools/fuzz/{bit-flips,corpus,http}.test.ts',
    leftOut: 'files',
    changes: ['tools/fuzz/**'],
  },
  {
    files: 'tools/routing-simulation/**/*.test.ts',
    leftOut: 'files',
    changes: ['tools/routing-simulation/**'],
  },
  {
    files: 'tools/wallet-guessing/**/*.test.ts',
    leftOut: 'files',
    changes: ['tools/wallet-guessing/**'],
  },
  {
    files: 'test/contract/conformance/{every-route,limits}.test.ts',
    leftOut: 'tests',
    changes: ['packages/contract/src/**', 'apps/control/src/{credentials,limits}/**', embedded],
  },
  {
    files: 'test/money/{killed-while-booking,money}.test.ts',
    leftOut: 'tests',
    changes: [state, ...money, broker, embedded],
  },
  {
    files: 'test/routing/failover/failover.test.ts',
    leftOut: 'tests',
    changes: ['apps/confidential/src/attempts/**', embedded],
  },
  {
    files: 'test/people/accounts/limits.test.ts',
    leftOut: 'tests',
    changes: ['apps/control/src/{limits,sessions,sign-in}/**'],
  },
  { files: 'test/operate/serving/{secret-files,settings-file}.test.ts', leftOut: 'tests', changes: [embedded] },
  ...[
    'apps',
    'billing',
    'budgets',
    'keys',
    'models',
    'operator',
    'playground',
    'routing',
    'usage',
    'verify',
    'workspaces',
  ].map(
    (page): Thorough => ({
      files: `test/people/dashboard/${page}.test.ts`,
      leftOut: 'files',
      changes: [
        `apps/dashboard/src/pages/${page}/**`,
        'apps/dashboard/src/{api,format,inference-key,snippets,ui,verification}/**',
        'apps/dashboard/src/styles.css',
      ],
    }),
  ),
  {
    files:
      'test/people/dashboard/{docs,double-press,feel,first-steps,interruptions,monthly-grants,overview,sign-in,weight}.test.ts',
    leftOut: 'files',
    changes: [
      'apps/dashboard/src/pages/{account,guides,home,reference,sign-in,status}/**',
      'apps/dashboard/src/{api,session,shell,ui}/**',
      'apps/dashboard/src/styles.css',
    ],
  },
];
