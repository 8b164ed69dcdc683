import { availableParallelism, totalmem } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/kit/longest-first.ts';
import { thorough } from './test/thorough.ts';

const source = {
  resolve: { conditions: ['@sotto/source'] },
  // Only our own condition: `import` here would make `require` load ESM builds of CommonJS packages.
  ssr: { resolve: { conditions: ['@sotto/source'] } },
};

/** A container may have less than its machine; where it has no limit, that is 0 or beyond all bounds. */
const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
/** Memory for the servers, planes and browser of one file of `system`. */
const fileBytes = 3 * 2 ** 30;
/** A file of `system` waits for some of its time, so two more run than there are cores. */
const atOnce = availableParallelism() + 2;

/** Files that only `.ci/run` runs. */
const thoroughFiles = thorough.filter(({ leftOut }) => leftOut === 'files').map(({ files }) => files);

/** What `system` and `thorough` share: the dashboard, a Postgres and a Redis for all files, and time for a busy machine. */
const withServers = {
  globalSetup: ['test/kit/openai/schema.ts', 'test/kit/bundles.ts', 'test/kit/shared-servers.ts'],
  setupFiles: ['test/kit/openai/watch-answers.ts', 'test/kit/failure-logs.ts'],
  // Ends what hangs. A busy machine takes many times as long as an idle one.
  testTimeout: 240_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
};

/**
 * Three projects: `unit` needs nothing but Node; `system` starts databases and processes; `thorough` is for `.ci/run`. Each
 * begins after the one before, which tells sooner what is wrong.
 */
export default defineConfig({
  test: {
    // A worker loads each module once for all its files. Tests mock no module, and restore each global that they replace. Modules
    // beside them hold nothing that ends with a file.
    isolate: false,
    // A worker keeps modules and makes much garbage. With Node's own sixteen MiB for new objects, it copies them a tenth of its time.
    execArgv: ['--max-semi-space-size=64'],
    globalSetup: ['test/kit/skips.ts', 'test/kit/dashboard.ts'],
    maxWorkers: Math.max(1, Math.min(atOnce, Math.floor(memory / fileBytes))),
    reporters: ['default', './test/kit/summary.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...source,
        test: {
          name: 'unit',
          include: [
            '{packages,apps}/*/src/**/*.test.ts',
            'test/privacy/layers/*.test.ts',
            'tools/{ci,mutants,reference,stress}/*.test.ts',
            'tools/fuzz/evidence.test.ts',
          ],
          exclude: ['**/*.integration.test.ts', '**/node_modules/**', '**/dist/**'],
          // Properties try hundreds of inputs; a busy machine must not end them.
          testTimeout: 120_000,
        },
      },
      {
        ...source,
        test: {
          name: 'system',
          include: ['{packages,apps}/*/src/**/*.integration.test.ts', '{test,tools}/**/*.test.ts'],
          exclude: [
            'test/privacy/layers/**',
            'tools/{ci,mutants,reference,stress}/**',
            'tools/fuzz/evidence.test.ts',
            ...thoroughFiles,
            '**/node_modules/**',
            '**/dist/**',
          ],
          ...withServers,
          sequence: { groupOrder: 1 },
        },
      },
      {
        ...source,
        test: { name: 'thorough', include: thoroughFiles, ...withServers, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
