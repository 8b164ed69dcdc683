import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import type { OwnRedis, OwnRedisOptions } from './redis.ts';
import { answers, withRedis } from './redis-connection.ts';
import { dieTogether } from './when-we-end.ts';

const START_TIMEOUT_MS = 30_000;
const POLL_MS = 10;
const PORT_TRIES = 5;

export interface RedisProcessOptions extends Omit<OwnRedisOptions, 'cluster'> {
  /** More settings (`--name value …`) for a given port. */
  readonly portSettings?: (port: number) => readonly string[];
}

/** Starts a private `redis-server` or `valkey-server` on loopback, with its data in a temporary folder. */
export async function startRedisProcess(
  program: string,
  options: RedisProcessOptions,
): Promise<OwnRedis & { readonly port: number }> {
  const { environment = {} } = options;
  const folder = await mkdtemp(join(options.within ?? tmpdir(), 'sotto-test-redis-'));
  const launchOn = (port: number) => {
    const durability = options.appendOnly ? ['--appendonly', 'yes', '--appendfsync', 'always'] : [];
    const users = options.aclFile === undefined ? [] : ['--aclfile', options.aclFile];
    const databases = ['--databases', String(options.databases ?? 16)];
    const settings = ['--maxmemory-policy', 'noeviction', '--save', '', ...databases, ...durability, ...users];
    const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder];
    return launch(program, [...place, ...settings, ...(options.portSettings?.(port) ?? [])], {
      port,
      folder,
      environment,
    });
  };

  let port = await freePort();
  let server = await launchOn(port);
  // Another process may have taken the port. A second failure for that reason is unlikely, and a fifth must have
  // another reason.
  for (let tries = 1; server.failure !== undefined; tries++) {
    if (tries === PORT_TRIES || !server.failure.includes('in use')) throw new Error(server.failure);
    port = await freePort();
    server = await launchOn(port);
  }

  const url = `redis://127.0.0.1:${port}`;
  return {
    url,
    nodes: [url],
    port,
    get pid() {
      return server.pid;
    },
    kill9: () => server.end('SIGKILL'),
    restart: async () => {
      await server.end('SIGTERM');
      server = await launchOn(port);
      if (server.failure !== undefined) throw new Error(server.failure);
    },
    flush: async () => {
      await withRedis(url, (redis) => redis.flushall());
    },
    pause: async () => server.signal('SIGSTOP'),
    resume: async () => server.signal('SIGCONT'),
    stop: async () => {
      await server.end('SIGKILL');
      await rm(folder, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}

/** Starts the server. Resolves when it answers, or with `failure` if it ended before that. */
async function launch(
  program: string,
  args: readonly string[],
  { port, folder, environment }: { port: number; folder: string; environment: Readonly<Record<string, string>> },
) {
  const logFile = join(folder, 'redis.log');
  const log = openSync(logFile, 'w');
  // Detached, because Ctrl-C in the terminal is for the tests. They then end their servers.
  const child = spawn(program, args, {
    stdio: ['ignore', log, log],
    detached: true,
    env: { ...process.env, ...environment },
  });
  closeSync(log);
  let gone: string | undefined;
  const ended = new Promise<void>((resolve) => {
    const end = (reason: string) => {
      gone = reason;
      resolve();
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(`ended with ${code ?? signal}`));
  });
  const callOff = child.pid === undefined ? () => {} : dieTogether(child.pid, [folder]);
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  ended.then(() => {
    callOff();
    process.off('exit', kill);
  });

  for (const deadline = Date.now() + START_TIMEOUT_MS; gone === undefined; await sleep(POLL_MS)) {
    if (await answers(`redis://127.0.0.1:${port}`)) break;
    if (Date.now() > deadline) kill();
  }
  child.unref();
  const failure = gone === undefined ? undefined : `${program} ${gone}:\n${await readFile(logFile, 'utf8')}`;
  return { failure, pid: child.pid, ...controls(child, ended) };
}

function controls(child: ChildProcess, ended: Promise<void>) {
  return {
    signal: (signal: NodeJS.Signals): void => {
      child.kill(signal);
    },
    end: async (signal: NodeJS.Signals): Promise<void> => {
      child.ref();
      child.kill(signal);
      // A process stopped by SIGSTOP receives only SIGKILL until it continues.
      child.kill('SIGCONT');
      await ended;
    },
  };
}
