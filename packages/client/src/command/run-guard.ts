import { execFile, spawn } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

/**
 * A shell that reads the agent's process id, and then waits. Its input ends when `sotto` dies in any way, even by SIGKILL.
 * Then it ends the agent with its descendants, as `endTree` does, and removes the folder. A second line tells it that the
 * run ended by itself. `tree` walks up from each process; it stops at 99 steps, because the list may contradict itself.
 */
const script = `
read -r agent
read -r line && exit
tree() {
  ps -A -o pid= -o ppid= | awk -v root="$agent" '
    { parent[$1] = $2 }
    END {
      for (pid in parent) {
        at = pid
        for (steps = 0; steps < 99 && at != root && at in parent; steps++) at = parent[at]
        if (at == root) print pid
      }
    }'
}
running() {
  for each in "$@"; do kill -0 "$each" && return; done
  return 1
}
if [ -n "$agent" ]; then
  ended="$agent $(tree)"
  kill -TERM $ended
  for second in 1 2 3 4 5; do running $ended || break; sleep 1; done
  kill -KILL $ended $(tree)
fi
rm -rf -- "$0"
`;

export interface RunGuard {
  /** Call this once, with the process id of the agent. */
  watch(pid: number): void;
  /** Call this when the run has ended. */
  release(): void;
}

/**
 * Starts the guard of a run with this folder. Without a proxy, an agent cannot do anything, and the folder has the
 * token of the run. Windows has no such shell, so runs there have no guard.
 */
export function guardRun(folder: string): RunGuard {
  // In a session of its own, so that it outlives the terminal and its Ctrl-C.
  const guard = spawn('/bin/sh', ['-c', script, folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  return {
    watch: (pid) => void guard.stdin.write(`${pid}\n`),
    release: () => void guard.stdin.end('\n\n'),
  };
}

const run = promisify(execFile);
const pollMs = 50;

/**
 * Ends a process and all its descendants: by `signal`, and those that ignore it by SIGKILL after `graceMs`. A process
 * group would not do, because agents start commands in groups of their own.
 */
export async function endTree(pid: number, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  const tree = await treeOf(pid);
  const until = performance.now() + graceMs;
  for (const each of tree) send(each, signal);
  while (tree.some((each) => send(each, 0))) {
    if (performance.now() >= until) {
      for (const each of new Set([...tree, ...(await treeOf(pid))])) send(each, 'SIGKILL');
      return;
    }
    await setTimeout(pollMs);
  }
}

/** Returns the ids of a process and its descendants. Only its own where there is no `ps`, as on Windows. */
async function treeOf(root: number): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=', '-o', 'ppid=']).catch(() => ({ stdout: '' }));
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  const tree = [root];
  // The loop also visits the ids that it adds.
  for (const parent of tree) {
    for (const [pid, ppid] of rows) if (pid !== undefined && ppid === parent) tree.push(pid);
  }
  return tree;
}

/** Sends a signal. Returns false if the process has ended. Signal 0 only asks. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
