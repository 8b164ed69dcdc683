import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterOptions } from './cluster.ts';
import { endOrphan, endServer, postmasterPidFile, serverArgs } from './orphan.ts';
import { spawnProgram } from './programs.ts';

/** Recovery after a crash reads up to `max_wal_size` of log, which takes long on slow disks. */
const START_TIMEOUT_MS = 120_000;
const POLL_MS = 10;
const LOG_TAIL_LINES = 20;

/** A running server and its port. */
export interface LaunchedServer {
  readonly server: { readonly pid: number; stop(): Promise<void> };
  readonly port: number;
}

/** See `PostgresOptions`. */
type LaunchOptions = ClusterOptions & { readonly port?: number; readonly maxConnections?: number };

/**
 * Stops a server that a killed process left, starts one and waits until it accepts connections. Tries another port if the first
 * was taken, and waits for the sessions of a killed server to end. Rejects if a running process has a server on the cluster.
 */
export async function launchServer(options: LaunchOptions): Promise<LaunchedServer> {
  const logFile = join(dirname(options.dataDir), 'postgres.log');
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    await endOrphan(options.dataDir);
    const port = options.port ?? (await freePort());
    const child = spawnServer(options, port, logFile);
    const outcome = await untilReady(child, options.dataDir, deadline);
    if (outcome === 'ready') return { server: watchServer(child), port };

    const log = await logTail(logFile);
    const passing =
      (options.port === undefined && log.includes('could not create any TCP/IP sockets')) ||
      /pre-existing shared memory block .* is still in use/.test(log) ||
      // Another Sotto that was started at the same time was quicker.
      log.includes('lock file "postmaster.pid" already exists');
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
    // Statements and error details quote user data, so they are not logged.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    ...(durability === 'fast' ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : {}),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // This process opens the log and empties it at every start, so that the server's account needs no access to the folder.
  const log = openSync(logFile, 'w', 0o600);
  try {
    const child = spawnProgram(join(programs, 'bin', 'postgres'), [...serverArgs(dataDir), ...args], {
      account,
      stdio: ['ignore', log, log],
    });
    // An exit of this process ends the server too, even before it is ready; only SIGKILL leaves an orphan.
    const atExit = () => child.kill('SIGINT');
    process.on('exit', atExit);
    child.once('exit', () => process.off('exit', atExit));
    return child;
  } finally {
    closeSync(log);
  }
}

/** Returns `ready`, or the reason why not. Reads the pid file as `pg_ctl` does: the first line is the process, the eighth its state. */
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
  // Only stop() waits for the server.
  child.unref();

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

/** Below the ephemeral ports, so that the system does not assign the same port to another process. */
const FIRST_PORT = 15_000;
const LAST_PORT = 31_999;
const TRIES = 100;

/** Finds a free port on loopback. Another process may take it before it is used. Rejects if none is free. */
async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
