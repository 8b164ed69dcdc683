import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { fromSource } from '../../kit/from-source.ts';

const main = fileURLToPath(new URL('../../../packages/client/src/command/main.ts', import.meta.url));

export interface SottoRun {
  readonly child: ChildProcess;
  /** What it wrote so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves to its exit code. */
  readonly ended: Promise<number | null>;
  /** Resolves when stdout matches; rejects where it ends before that. */
  outMatches(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Runs the `sotto` command in a process of its own, from source. */
export function runSotto(args: readonly string[], environment: Readonly<Record<string, string>> = {}): SottoRun {
  const child = spawn(process.execPath, [...fromSource, main, ...args], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  const listeners = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    for (const listener of listeners) listener();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    child,
    out: () => out,
    err: () => err,
    ended,
    outMatches: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(out);
          if (found !== null) resolve(found);
        };
        listeners.add(look);
        look();
        void ended.then((code) => reject(new Error(`it ended with ${code}: ${err}`)));
      }),
  };
}
