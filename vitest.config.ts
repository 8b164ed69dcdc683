import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const source = {
  resolve: { conditions: ['@sotto/source'] },
  // Only our own condition: `import` here would make `require` load ESM builds of CommonJS packages.
  ssr: { resolve: { conditions: ['@sotto/source'] } },
};

/** Two projects: `unit` needs nothing but Node; `system` starts databases and processes. */
export default defineConfig({
  test: {
    globalSetup: ['test/kit/skips.ts', 'test/kit/dashboard.ts'],
    // All cores: a file of `system` mostly waits, for processes of its own to start and for time to pass.
    maxWorkers: availableParallelism(),
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
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
