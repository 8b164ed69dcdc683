import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { dieTogether } from './die-together.ts';
import { fromSource } from './from-source.ts';
import { until } from './until.ts';

export interface OwnPlane {
  /** Beside what all have, and before it. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** A command that runs the one that follows it. */
  readonly under?: readonly string[];
  /** Where its log goes, asked at every start; `kept`, the default, is what `logs()` shows. */
  readonly stdout?: () => number | 'kept';
}

export interface TestProcess {
  readonly pid: number;
  /** Starts it on the same port, and does not wait for it. */
  start(): void;
  kill9(): Promise<void>;
  /** Starts it again on the same port, with these variables changed from now on, and waits until it is ready. */
  restart(changes?: Readonly<Record<string, string | undefined>>): Promise<void>;
  /** SIGTERM; resolves to the exit code. */
  terminate(): Promise<number | null>;
}

const node = process.execPath;
const root = fileURLToPath(new URL('../../', import.meta.url));
const readyMs = 60_000;

/** One plane as a process of its own. */
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

  start(): void {
    const { flags = [], under = [], stdout = () => 'kept' } = this.#own;
    const [program = node, ...args] = [...under, node, ...fromSource, '--disable-sigusr1', ...flags, ...this.#args];
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

  async ready(): Promise<void> {
    for (const origin of this.#origins) {
      await until(
        async () => {
          if (this.#child?.exitCode != null) throw new Error('it has ended');
          const answer = await fetch(`${origin}/readyz`);
          await answer.body?.cancel();
          return answer.ok;
        },
        () => `${this.#args[0]} is ready; it wrote: ${this.#output.slice(-20).join('').slice(-2000)}`,
        readyMs,
      );
    }
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
