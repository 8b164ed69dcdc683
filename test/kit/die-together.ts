import { spawn } from 'node:child_process';

/**
 * Has a process killed when this one ends, however it ends: vitest stops its workers by a signal, which runs no exit
 * handlers.
 *
 * @param folders - Removed then, too.
 * @returns What calls it off.
 */
export const dieTogether = (pid: number, folders: readonly string[] = []): (() => void) =>
  whenWeEnd('kill -9 "$1" 2>/dev/null; shift; [ $# -eq 0 ] || rm -rf -- "$@"', [String(pid), ...folders]);

/**
 * Runs a shell's script when this process ends, however it ends. The shell waits for the end of a pipe that only we hold.
 *
 * @returns What calls it off.
 */
export function whenWeEnd(script: string, args: readonly string[]): () => void {
  const watcher = spawn('sh', ['-c', `cat >/dev/null; ${script}`, 'sh', ...args], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.stdin.on('error', () => {});
  watcher.unref();
  // Typed as a stream only; a pipe is a socket and would keep us alive.
  if ('unref' in watcher.stdin && typeof watcher.stdin.unref === 'function') watcher.stdin.unref();
  return () => {
    watcher.kill('SIGKILL');
  };
}
