import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endServer } from './end-server.ts';

/** Long enough for a predecessor that is just draining; short enough for someone who started Sotto twice. */
const IN_USE_WAIT_MS = 5_000;
const POLL_MS = 50;

/** The file in which a server keeps its process id (first line) and its state. */
export function postmasterPidFile(dataDir: string): string {
  return join(dataDir, 'postmaster.pid');
}

/** The arguments by which a later start knows a server of this cluster, and whether the process that started it lives. */
export function serverArgs(dataDir: string): string[] {
  return ['-D', dataDir, '-c', `cluster_name=sotto-${process.pid}`];
}

/**
 * Ends a server that a killed process left on this cluster, and clears away its pid file where PostgreSQL itself would
 * take it for a living server's. Rejects where the process that started the server is alive and stays so: that would be
 * another Sotto on the same data.
 */
export async function endOrphan(dataDir: string): Promise<void> {
  // Windows has no command line to read without more tools; PostgreSQL's own check of the file has to do there.
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
  // The number may be some other process's by now, or a dead one's that nobody has collected. A free number is left for
  // PostgreSQL to judge: it also knows of sessions that outlive their server for a moment.
  if (kill(pid, 0)) await rm(postmasterPidFile(dataDir), { force: true });
}

async function untilOrphaned(pid: number, dataDir: string): Promise<void> {
  for (const deadline = Date.now() + IN_USE_WAIT_MS; ; await sleep(POLL_MS)) {
    const server = await inspect(pid);
    if (!isServerOf(dataDir, server)) return;
    // A process whose parent has died gets another parent, so this is no mere coincidence of numbers.
    const owner = Number(/cluster_name=sotto-(\d+)/.exec(server.command)?.[1]);
    if (server.parentPid !== owner) return;
    if (Date.now() > deadline)
      throw new Error(
        `the database in ${dataDir} is in use by another Sotto, process ${owner}: end that one, or give this one another SOTTO_DATA_DIR and other ports`,
      );
  }
}

interface Process {
  readonly parentPid: number;
  /** The command line, arguments separated and followed by a space. */
  readonly command: string;
}

function isServerOf(dataDir: string, process: Process | undefined): process is Process {
  return process?.command.includes(`/postgres -D ${dataDir} `) ?? false;
}

/** The process of that number; undefined where there is none, or only the entry of a dead one. */
async function inspect(pid: number): Promise<Process | undefined> {
  try {
    return process.platform === 'linux' ? await inspectProc(pid) : await inspectPs(pid);
  } catch {
    return undefined;
  }
}

/** Slim images have no `ps`. */
async function inspectProc(pid: number): Promise<Process | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program's name, in parentheses, may hold anything; what follows the last one is numbers.
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

/** Whether there was such a process to get the signal. */
function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
