import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, whenWeEnd } from '@sotto/test-servers';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Free ports for both planes, as settings of `npm start`. */
export const freePorts = async () => ({
  CONTROL_PORT: String(await freePort()),
  CONFIDENTIAL_PORT: String(await freePort()),
});

/** The content of `quickstart.json`, which `npm start` writes. */
export interface Quickstart {
  readonly control_url: string;
  readonly base_url: string;
  readonly dashboard_url: string;
  readonly inference_key: string;
  readonly management_key: string;
  readonly email: string;
  readonly password: string;
}

export interface StartedByNpm {
  readonly quickstart: Quickstart;
  /** The process of npm itself, which a person or a supervisor would signal. */
  readonly npm: ChildProcess;
  output(): string;
  /** Signals npm and resolves to its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const running = new Set<StartedByNpm>();

/** Ends every process that a failed test has left running. */
export async function endAll(): Promise<void> {
  for (const started of running) await started.end('SIGTERM');
}

/**
 * Runs `npm start` in the project and waits until it reports that it runs. If it ends before that, rejects with its
 * output.
 *
 * @param under - The beginning of a command line that npm runs under.
 */
export async function npmStart(
  dataDir: string,
  environment: Record<string, string>,
  under: readonly string[] = [],
): Promise<StartedByNpm> {
  const [program = '', ...args] = [...under, 'npm', 'start'];
  const npm = spawn(program, args, {
    cwd: root,
    env: { ...plainEnvironment(), SOTTO_DATA_DIR: dataDir, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // So that nothing stays behind if the tests are killed.
  if (npm.pid !== undefined) npm.once('exit', whenWeEnd('kill "$1" 2>/dev/null', [String(npm.pid)]));
  let output = '';
  const gone = new Promise<number | null>((resolve) => npm.once('exit', (code) => resolve(code)));
  await new Promise<void>((resolve, reject) => {
    const take = (piece: Buffer): void => {
      output += piece.toString('utf8');
      if (output.includes('Press Ctrl-C to stop.')) resolve();
    };
    npm.stdout.on('data', take);
    npm.stderr.on('data', take);
    void gone.then((code) => reject(new Error(`npm start ended with ${code}: ${output}`)));
  });
  const quickstart = JSON.parse(await readFile(join(dataDir, 'quickstart.json'), 'utf8')) as Quickstart;
  const started: StartedByNpm = {
    quickstart,
    npm,
    output: () => output,
    end(signal) {
      running.delete(started);
      npm.kill(signal);
      return gone;
    },
  };
  running.add(started);
  return started;
}

/** The environment of a person at a terminal: ours, without the variables of the test runner. */
function plainEnvironment(): Record<string, string> {
  const ours = Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV$|TEST$|npm_)/.test(name));
  return Object.fromEntries(ours.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Returns the command lines of running processes that contain a text. */
export function processesMentioning(text: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    execFile('ps', ['-A', '-ww', '-o', 'args='], (error, stdout) => {
      if (error !== null) reject(error);
      else resolve(stdout.split('\n').filter((line) => line.includes(text)));
    });
  });
}
