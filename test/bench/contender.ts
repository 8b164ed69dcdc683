import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Target } from './load.ts';

/** Something that stands between a client and the provider. */
export interface Contender {
  readonly name: string;
  readonly target: Target;
  /** The processes whose CPU and memory count. */
  pids(): readonly number[];
  /** Makes ready for so many requests, for example by minting tickets. */
  prepare?(requests: number, model: string): Promise<void>;
  stop(): Promise<void>;
}

const node = [process.execPath, '--conditions=@sotto/source', '--disable-warning=ExperimentalWarning'];

/** The processor that contenders share, so that a request costs one core; the bench, Redis and the provider get the other. */
export const brokerCore = '0';
const pinning = ['taskset', '-c', brokerCore];

/** Starts a Node process of ours that tells its port by IPC. */
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
  process.once('exit', () => child.kill('SIGKILL'));
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
  origin,
  path,
  headers: () => ({}),
  model: (name) => name,
});
