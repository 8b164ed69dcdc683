import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Long enough for a predecessor that is draining, and short enough for a user who started Sotto twice. */
const IN_USE_WAIT_MS = 5_000;
const IN_USE_POLL_MS = 50;

/** The file with a server's process id (first line) and state. */
export function postmasterPidFile(dataDir: string): string {
  return join(dataDir, 'postmaster.pid');
}

/** Arguments that let a later start recognise the server of this cluster and the process that started it. */
export function serverArgs(dataDir: string): string[] {
  return ['-D', dataDir, '-c', `cluster_name=sotto-${process.pid}`];
}

/**
 * Stops a server that a killed process left on this cluster, and removes a stale pid file that PostgreSQL would mistake for a
 * running server's. Rejects if the process that started the server keeps running: another Sotto uses the same data.
 */
export async function endOrphan(dataDir: string): Promise<void> {
  // On Windows, command lines cannot be read without further tools, so PostgreSQL's own check must suffice.
  if (process.platform === 'win32') return;
  const pid = Number.parseInt(await readFile(postmasterPidFile(dataDir), 'utf8').catch(() => ''), 10);
  if (!(pid > 0)) return;

  if (isServerOf(dataDir, await inspect(pid))) {
    await untilOrphaned(pid, dataDir);
    await endServer({
      kill: (signal) => kill(pid, signal),
      isGone: async () => !isServerOf(dataDir, await inspect(pid)),
    });
  }
  // The process id may belong to another process or to a zombie by now. PostgreSQL handles an unused id itself, because it also
  // detects sessions that briefly outlive their server.
  if (kill(pid, 0)) await rm(postmasterPidFile(dataDir), { force: true });
}

async function untilOrphaned(pid: number, dataDir: string): Promise<void> {
  for (const deadline = Date.now() + IN_USE_WAIT_MS; ; await sleep(IN_USE_POLL_MS)) {
    const server = await inspect(pid);
    if (!isServerOf(dataDir, server)) return;
    // A process whose parent has died gets another parent, so a match is not a coincidence.
    const owner = Number(/cluster_name=sotto-(\d+)/.exec(server.command)?.[1]);
    if (server.parentPid !== owner) return;
    if (Date.now() > deadline)
      throw new Error(
        `the database in ${dataDir} is in use by another Sotto, process ${owner}. Stop that one, or start this one with another SOTTO_DATA_DIR, CONTROL_PORT and CONFIDENTIAL_PORT`,
      );
  }
}

interface Process {
  readonly parentPid: number;
  /** The command line, with a space after each argument. */
  readonly command: string;
}

function isServerOf(dataDir: string, process: Process | undefined): process is Process {
  return process?.command.includes(`/postgres -D ${dataDir} `) ?? false;
}

/** Returns the process with this id. Undefined if it does not exist or is a zombie. */
async function inspect(pid: number): Promise<Process | undefined> {
  try {
    return process.platform === 'linux' ? await inspectProc(pid) : await inspectPs(pid);
  } catch {
    return undefined;
  }
}

/** Reads /proc, because slim images have no `ps`. */
async function inspectProc(pid: number): Promise<Process | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program's name, in parentheses, may contain any character. Only numbers follow the last parenthesis.
  const [state, parentPid] = status.slice(status.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z') return undefined;
  const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  return { parentPid: Number(parentPid), command };
}

async function inspectPs(pid: number): Promise<Process | undefined> {
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'ppid=,command=', '-p', String(pid)]);
  const [, parentPid, command] = /^\s*(\d+)\s+(.*)$/.exec(stdout.trimEnd()) ?? [];
  return command === undefined ? undefined : { parentPid: Number(parentPid), command: `${command} ` };
}

/** Sends a signal. Returns whether the process exists. */
export function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

const POLL_MS = 10;

/**
 * Signals in order of force, each with its timeout. SIGINT closes sessions, writes a checkpoint and exits. SIGQUIT exits without
 * the checkpoint, so that the next start recovers. SIGKILL ends the process.
 */
const steps = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 10_000 },
  { signal: 'SIGKILL', waitMs: 10_000 },
] as const;

/** Stops a PostgreSQL server. Resolves when its process is gone, at the latest after the timeouts above. */
export async function endServer(server: {
  kill(signal: NodeJS.Signals): void;
  isGone(): Promise<boolean>;
}): Promise<void> {
  for (const { signal, waitMs } of steps) {
    if (await server.isGone()) return;
    server.kill(signal);
    for (const deadline = Date.now() + waitMs; Date.now() < deadline; await sleep(POLL_MS)) {
      if (await server.isGone()) return;
    }
  }
}
