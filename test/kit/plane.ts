import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dieTogether, until } from '@sotto/test-servers';
import { fromSource, programOf } from './programs.ts';

export interface OwnPlane {
  /** Variables that replace or extend the common ones. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** The beginning of a command line, which runs the command that follows it. */
  readonly under?: readonly string[];
  /** The destination of the log, requested at every start. The default, `kept`, is the text of `logs()`. */
  readonly stdout?: () => number | 'kept';
}

export interface TestProcess {
  readonly pid: number;
  /** Returns the resident memory in bytes, or the most since the kernel's mark was reset. Linux only. */
  residentBytes(which?: 'now' | 'most'): number;
  /** Starts the process on the same port, without waiting for it. */
  start(): void;
  kill9(): Promise<void>;
  /** Restarts the process on the same port and waits until it is ready. The changed variables stay changed. */
  restart(changes?: Readonly<Record<string, string | undefined>>): Promise<void>;
  /** Sends SIGTERM. Resolves to the exit code. */
  terminate(): Promise<number | null>;
}

const node = process.execPath;
const root = fileURLToPath(new URL('../../', import.meta.url));
const readyMs = 60_000;

/** One plane as its own process. */
export class Plane implements TestProcess {
  readonly #args: readonly string[];
  #environment: Readonly<Record<string, string | undefined>>;
  readonly #origins: readonly string[];
  readonly #output: string[];
  readonly #own: OwnPlane;
  #child: ChildProcess | undefined;

  constructor(
    args: readonly string[],
    environment: Record<string, string>,
    origins: readonly string[],
    output: string[],
    own: OwnPlane = {},
  ) {
    this.#args = args;
    this.#environment = environment;
    this.#origins = origins;
    this.#output = output;
    this.#own = own;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  residentBytes(which: 'now' | 'most' = 'now'): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const line = which === 'now' ? /VmRSS:\s+(\d+) kB/ : /VmHWM:\s+(\d+) kB/;
    return Number(line.exec(status)?.[1]) * 1024;
  }

  start(): void {
    const { flags = [], under = [], stdout = () => 'kept' } = this.#own;
    const [main = '', ...rest] = this.#args;
    const command = [node, ...fromSource, '--disable-sigusr1', ...flags, programOf(main), ...rest];
    const [program = node, ...args] = [...under, ...command];
    const log = stdout();
    const child = spawn(program, args, {
      cwd: root,
      env: this.#environment,
      stdio: ['ignore', log === 'kept' ? 'pipe' : log, 'pipe'],
    });
    const keep = (piece: Buffer): void => {
      this.#output.push(piece.toString('utf8'));
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    this.#child = child;
    if (child.pid !== undefined) child.once('exit', dieTogether(child.pid));
  }

  /** Waits until the process is ready. Rejects as soon as it has ended. */
  async ready(): Promise<void> {
    const hasEnded = (): boolean => this.#child?.exitCode != null || this.#child?.signalCode != null;
    const said = (): string => `it wrote: ${this.#output.slice(-20).join('').slice(-2000)}`;
    for (const origin of this.#origins) {
      await until(
        async () => {
          if (hasEnded()) return true;
          const answer = await fetch(`${origin}/readyz`);
          await answer.body?.cancel();
          return answer.ok;
        },
        () => `${this.#args[0]} is ready; ${said()}`,
        readyMs,
      );
    }
    if (hasEnded()) throw new Error(`${this.#args[0]} has ended; ${said()}`);
  }

  async kill9(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async restart(changes: Readonly<Record<string, string | undefined>> = {}): Promise<void> {
    this.#environment = { ...this.#environment, ...changes };
    this.start();
    await this.ready();
  }

  async terminate(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return Promise.resolve(child?.exitCode ?? null);
    return new Promise((resolve) => {
      child.once('exit', (code) => resolve(code));
      child.kill(signal);
    });
  }
}
