import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { keysOf } from '@sotto/router';
import { StartError } from '@sotto/server';
import { providersOf } from './files/prepare-files.ts';
import { type LogFormat, prettyOut } from './log.ts';
import { type PlaneOptions, planeEnvironments } from './plane-environments.ts';
import { type RunningPlanes, waitUntil } from './service.ts';

/** A plane in its own process, restarted when it dies. */
interface Plane {
  reload(): void;
  stop(): Promise<void>;
  /** Rejects if the plane keeps dying before `started` is called. */
  readonly failed: Promise<never>;
  /** Says that the start has succeeded. From then on, the plane is restarted however often it dies. */
  started(): void;
}

/** Restarts of a plane that dies right after its start, before the start fails. */
const maxQuickDeaths = 3;
const quickMs = 3_000;
const stopMs = 40_000;

/** Runs the planes as two processes on a shared Redis. Each gets only its part of the environment. */
export async function startTwoProcesses(options: PlaneOptions): Promise<RunningPlanes> {
  const { local, origins, files } = options;
  const environments = planeEnvironments(options);
  const logFormat = options.config.LOG_FORMAT;
  const broker = startPlane('@sotto/confidential', [], {
    logFormat,
    environment: { ...environments.broker, ...(await providerKeys(files.registryFile)) },
  });
  const control = startPlane('@sotto/control', ['serve'], { logFormat, environment: environments.control });
  const stop = async (): Promise<void> => {
    await broker.stop();
    await control.stop();
  };
  const ready = Promise.all([untilReady(local.control), untilReady(local.confidential)]);
  try {
    await Promise.race([ready, broker.failed, control.failed]);
  } catch (error) {
    await stop();
    throw error;
  }
  for (const plane of [broker, control]) plane.started();
  return {
    controlOrigin: origins.control,
    confidentialOrigin: origins.confidential,
    oneProcess: false,
    reload() {
      broker.reload();
      control.reload();
    },
    stop,
  };
}

function startPlane(
  packageName: string,
  args: readonly string[],
  { environment, logFormat }: { readonly environment: Record<string, string>; readonly logFormat: LogFormat },
): Plane {
  const main = fileURLToPath(new URL('./main.ts', import.meta.resolve(packageName)));
  // Prevents a signal from opening the inspector in a plane.
  const flags = [...new Set([...process.execArgv, '--disable-sigusr1'])];
  let child: ChildProcess | undefined;
  let stopping = false;
  let isStarted = false;
  let quickDeaths = 0;
  let onGone = (): void => {};
  let fail: (error: StartError) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const start = (): void => {
    // It was stopped between a death and this restart.
    if (stopping) return;
    const startedAt = Date.now();
    const gone = (): void => {
      onGone();
      if (stopping) return;
      quickDeaths = Date.now() - startedAt < quickMs ? quickDeaths + 1 : 0;
      if (isStarted || quickDeaths < maxQuickDeaths) setTimeout(start, 250);
      else fail(new StartError(`${packageName} keeps ending; the lines above say why`));
    };
    child = spawn(process.execPath, [...flags, main, ...args], {
      // `scripts/lifeline.mjs` ends the plane when this pipe closes. No handler of this process runs at a SIGKILL.
      env: { PATH: process.env.PATH ?? '', ...environment, SOTTO_LIFELINE_FD: '3' },
      stdio: ['ignore', logFormat === 'json' ? 'inherit' : 'pipe', 'inherit', 'pipe'],
      // This process passes Ctrl-C on once, in the right order.
      detached: true,
    });
    child.stdout?.pipe(prettyOut());
    const lifeline = child.stdio[3] as Socket | null | undefined;
    lifeline?.on('error', () => {});
    child.once('exit', gone);
    // The system has no process or file left for it now.
    child.once('error', gone);
  };
  start();
  const killChild = (): void => {
    child?.kill('SIGKILL');
  };
  process.once('exit', killChild);
  return {
    failed,
    started: () => {
      isStarted = true;
    },
    reload: () => void child?.kill('SIGHUP'),
    async stop() {
      stopping = true;
      const running = child;
      if (running?.pid === undefined || running.exitCode !== null || running.signalCode !== null) return;
      await new Promise<void>((resolve) => {
        const force = setTimeout(() => running.kill('SIGKILL'), stopMs);
        onGone = () => {
          clearTimeout(force);
          resolve();
        };
        running.kill('SIGTERM');
      });
      process.off('exit', killChild);
    },
  };
}

const untilReady = (origin: string): Promise<void> =>
  waitUntil(
    async () => (await fetch(`${origin}/readyz`)).ok,
    60_000,
    `${origin}/readyz is not ready after a minute. Check that Redis is reachable at REDIS_URL`,
  );

/** Returns the provider keys that the registry names, from this process's environment, for the broker only. */
async function providerKeys(registryFile: string): Promise<Record<string, string>> {
  const names = ((await providersOf(registryFile)) ?? []).flatMap((provider) => keysOf(provider).map(({ env }) => env));
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
