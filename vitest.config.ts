import { availableParallelism, totalmem } from 'node:os';
import { defineConfig } from 'vitest/config';

const source = {
  resolve: { conditions: ['@sotto/source'] },
  // Only our own condition: `import` here would make `require` load ESM builds of CommonJS packages.
  ssr: { resolve: { conditions: ['@sotto/source'] } },
};

/** A container may have less than its machine; where it has no limit, that is 0 or beyond all bounds. */
const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
/** What the servers, planes and browser of one file of `system` may take; it mostly waits for them, so that every core has a file. */
const fileBytes = 3 * 2 ** 30;

/** Two projects: `unit` needs nothing but Node; `system` starts databases and processes. */
export default defineConfig({
  test: {
    globalSetup: ['test/kit/skips.ts', 'test/kit/dashboard.ts'],
    maxWorkers: Math.max(1, Math.min(availableParallelism(), Math.floor(memory / fileBytes))),
    reporters: ['default', './test/kit/summary.ts'],
    projects: [
      {
        ...source,
        test: {
          name: 'unit',
          include: ['{packages,apps}/*/src/**/*.test.ts', 'test/layers/*.test.ts'],
          exclude: ['**/*.integration.test.ts', '**/node_modules/**', '**/dist/**'],
          // Properties try hundreds of inputs; a busy machine must not end them.
          testTimeout: 60_000,
        },
      },
      {
        ...source,
        test: {
          name: 'system',
          include: ['{packages,apps}/*/src/**/*.integration.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/layers/**', '**/node_modules/**', '**/dist/**'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // After `unit`, which tells sooner what is wrong.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
