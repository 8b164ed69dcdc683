import { spawn } from 'node:child_process';

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
