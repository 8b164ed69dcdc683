import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterOptions } from './cluster.ts';
import { endServer } from './end-server.ts';
import { freePort } from './free-port.ts';
import { postmasterPidFile, serverArgs } from './orphan.ts';
import { spawnProgram } from './programs.ts';

/** Recovery after a crash reads up to `max_wal_size` of log, and slow disks exist. */
const START_TIMEOUT_MS = 120_000;
const POLL_MS = 10;
const LOG_TAIL_LINES = 20;

/** A server that answers, on a port. */
export interface LaunchedServer {
  readonly server: { readonly pid: number; stop(): Promise<void> };
  readonly port: number;
}

/** See `PostgresOptions`. */
type LaunchOptions = ClusterOptions & { readonly port?: number; readonly maxConnections?: number };

/**
 * Starts the server and waits until it takes connections. Another port is tried where someone else took ours first, and
 * the sessions of a server that was killed are given time to go.
 */
export async function launchServer(options: LaunchOptions): Promise<LaunchedServer> {
  const logFile = join(dirname(options.dataDir), 'postgres.log');
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const port = options.port ?? (await freePort());
    const child = spawnServer(options, port, logFile);
    const outcome = await untilReady(child, options.dataDir, deadline);
    if (outcome === 'ready') return { server: watchServer(child), port };

    const log = await logTail(logFile);
    const passing =
      (options.port === undefined && log.includes('could not create any TCP/IP sockets')) ||
      /pre-existing shared memory block .* is still in use/.test(log);
    if (!passing || Date.now() > deadline) throw new Error(`PostgreSQL did not start (${outcome}):\n${log}`);
    await sleep(POLL_MS * 10);
  }
}

function spawnServer(
  { dataDir, account, programs, durability, maxConnections = 100 }: LaunchOptions,
  port: number,
  logFile: string,
) {
  const settings: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: maxConnections,
    // The log is for us, about the server. What users stored, which statements and details quote, stays out of it.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    ...(durability === 'fast' ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : {}),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // Opened by us and emptied at every start: the server's account need not write beside the cluster.
  const log = openSync(logFile, 'w', 0o600);
  try {
    return spawnProgram(join(programs, 'bin', 'postgres'), [...serverArgs(dataDir), ...args], {
      account,
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
}

/** `ready`, or why not. The server says so in its pid file, as `pg_ctl` reads it: eighth line, and ours by the first. */
async function untilReady(child: ChildProcess, dataDir: string, deadline: number): Promise<string> {
  let ended: string | undefined;
  child.once('exit', (code, signal) => {
    ended = `ended with ${code ?? signal}`;
  });
  child.once('error', (error) => {
    ended = error.message;
  });
  while (ended === undefined) {
    const lines = (await readFile(postmasterPidFile(dataDir), 'utf8').catch(() => '')).split('\n');
    if (ended === undefined && Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return 'ready';
    if (Date.now() > deadline) {
      child.kill('SIGKILL');
      return `not ready after ${START_TIMEOUT_MS / 1000} s`;
    }
    await sleep(POLL_MS);
  }
  return ended;
}

function watchServer(child: ChildProcess) {
  if (child.pid === undefined) throw new Error('a server that answers has a process id');
  let gone = false;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      gone = true;
      resolve();
    });
  });
  // We wait for the server only in stop(). Leaving without it takes the server along; only a SIGKILL makes an orphan.
  child.unref();
  const atExit = () => child.kill('SIGINT');
  process.on('exit', atExit);
  exited.then(() => process.off('exit', atExit));

  let stopped: Promise<void> | undefined;
  const stop = () => {
    child.ref();
    stopped ??= endServer({ kill: (signal) => child.kill(signal), isGone: async () => gone }).then(() => exited);
    return stopped;
  };
  return { pid: child.pid, stop };
}

async function logTail(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trim().split('\n').slice(-LOG_TAIL_LINES).join('\n');
}
