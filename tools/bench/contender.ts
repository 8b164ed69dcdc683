import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { dieTogether } from '@sotto/test-servers';
import type { Target } from './load.ts';

/** A process, or several, between a client and the provider. */
export interface Contender {
  readonly name: string;
  readonly target: Target;
  /** The processes whose CPU and memory are counted. */
  pids(): readonly number[];
  /** The CPU that it has used so far, in µs, if that is not the sum of these processes'. */
  cpuMicroseconds?(): number;
  /** Prepares for this number of requests, for example by minting tickets. */
  prepare?(requests: number, model: string): Promise<void>;
  /** Resolves when the work that the requests caused has ended, so that it does not count for the next ones. */
  rest?(): Promise<void>;
  stop(): Promise<void>;
}

const node = [process.execPath, '--conditions=@sotto/source', '--disable-warning=ExperimentalWarning'];

/** The core that contenders share, so that all are measured on the same one. */
const contendersCore = '0';
const pinning = ['taskset', '-c', contendersCore];

/** Pins a process to the core of the contenders. */
export function pin(pid: number): void {
  spawnSync('taskset', ['-apc', contendersCore, String(pid)]);
}

/** All cores, as an argument of `taskset`. */
export const everyCore = `0-${cpus().length - 1}`;

/**
 * Pins the benchmark, and the processes that it starts after this, to all cores, or to all except the contenders' core
 * if there are others.
 */
export function runOn(which: 'every core' | 'the other cores'): void {
  const cores = which === 'every core' || cpus().length === 1 ? everyCore : `1-${cpus().length - 1}`;
  spawnSync('taskset', ['-apc', cores, String(process.pid)]);
}

/** Starts one of our Node processes and waits until it reports its port by IPC. */
export async function startNode(
  script: string,
  args: readonly string[],
  pinned: boolean,
): Promise<{ port: number; child: ChildProcess }> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = launch([...node, path, ...args], { pinned, ipc: true });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port));
    child.once('exit', () => reject(new Error(`${script} did not start`)));
  });
  return { port, child };
}

export function launch(
  command: readonly string[],
  options: {
    readonly pinned: boolean;
    readonly ipc?: boolean;
    readonly environment?: Record<string, string>;
    readonly cwd?: string;
  },
): ChildProcess {
  const [program = '', ...args] = options.pinned ? [...pinning, ...command] : command;
  const child = spawn(program, args, {
    stdio: options.ipc === true ? ['ignore', 'ignore', 'inherit', 'ipc'] : ['ignore', 'ignore', 'inherit'],
    env: options.environment ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  if (child.pid !== undefined) child.once('exit', dieTogether(child.pid));
  return child;
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await gone;
  clearTimeout(force);
}

export const plainTarget = (origin: string, path = '/v1/chat/completions'): Target => ({
  ...{ origin, path, headers: () => ({}), model: (name: string) => name },
});
