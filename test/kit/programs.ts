import { execFile } from 'node:child_process';

/** The Node flags for a program that runs from its sources. */
export const fromSource: readonly string[] = [
  '--conditions=@sotto/source',
  '--disable-warning=ExperimentalWarning',
  `--import=${new URL('../../scripts/compile-cache.mjs', import.meta.url).href}`,
];

/** Set when `bundles.ts` has bundled these programs. */
export const bundledVariable = 'SOTTO_TEST_BUNDLED';
export const bundledPrograms: Readonly<Record<string, string>> = {
  'apps/control/src/main.ts': 'apps/control/bundle/main.js',
  'apps/confidential/src/main.ts': 'apps/confidential/bundle/main.js',
  'packages/client/src/command/main.ts': 'packages/client/bundle/main.js',
  'test/kit/mains/confidential.ts': 'apps/confidential/bundle/main-of-tests.js',
};

/** The file that starts one of our programs, relative to the root of the project: its bundle, or else its sources. */
export const programOf = (main: string): string =>
  (process.env[bundledVariable] === '1' ? bundledPrograms[main] : undefined) ?? main;

/** How a program ended, and what it printed. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** Runs a program to its end. The code is 1 if it cannot start, or ends by a signal. */
export function runToEnd(
  program: string,
  args: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<Ran> {
  const env = { PATH: process.env.PATH ?? '', ...environment };
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env, maxBuffer: 1 << 26 }, (failure, out, error) => {
      const code = typeof failure?.code === 'number' ? failure.code : failure ? 1 : 0;
      resolve({ code, out: out.trim(), error: error.trim() });
    });
  });
}
