import { spawn } from 'node:child_process';

/**
 * Has a process killed when this one ends, however it ends: vitest stops its workers by a signal, which runs no exit
 * handlers. A shell waits for the end of a pipe that only we hold.
 *
 * @param folders - Removed then, too.
 * @returns What calls it off.
 */
export function dieTogether(pid: number, folders: readonly string[] = []): () => void {
  const script = 'cat >/dev/null; kill -9 "$1" 2>/dev/null; shift; [ $# -eq 0 ] || rm -rf -- "$@"';
  const watcher = spawn('sh', ['-c', script, 'sh', String(pid), ...folders], {
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
