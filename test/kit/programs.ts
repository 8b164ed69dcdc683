import { execFile, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

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

/** Returns the first of these programs that is on the PATH. */
export function onPath(...names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

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

/**
 * Kills a process when this one ends, however it ends. Exit handlers are not enough, because vitest stops its workers
 * by a signal.
 *
 * @param folders - Removed then, too.
 * @returns A function that cancels this.
 */
export const dieTogether = (pid: number, folders: readonly string[] = []): (() => void) =>
  whenWeEnd('kill -9 "$1" 2>/dev/null; shift; [ $# -eq 0 ] || rm -rf -- "$@"', [String(pid), ...folders]);

/**
 * Runs a shell script when this process ends, however it ends. The shell waits until a pipe closes that only this
 * process holds.
 *
 * @returns A function that cancels this.
 */
export function whenWeEnd(script: string, args: readonly string[]): () => void {
  const watcher = spawn('sh', ['-c', `cat >/dev/null; ${script}`, 'sh', ...args], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.stdin.on('error', () => {});
  watcher.unref();
  // The type says stream only. The pipe is a socket, which would keep this process alive.
  if ('unref' in watcher.stdin && typeof watcher.stdin.unref === 'function') watcher.stdin.unref();
  return () => {
    watcher.kill('SIGKILL');
  };
}
