import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dieTogether } from '@sotto/test-servers';
import { fromSource, programOf } from './programs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = 'packages/client/src/command/main.ts';
const main = resolve(root, programOf(source));

export interface SottoRun {
  readonly child: ChildProcess;
  /** Returns the output so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves to the exit code. */
  readonly ended: Promise<number | null>;
  /** Resolves when stdout matches. Rejects if the command ends before that. */
  outMatches(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Puts a program named `sotto`, which runs from source, into a folder. */
export function installSotto(folder: string): void {
  const script = `#!/bin/sh\nexec '${process.execPath}' --conditions=@sotto/source '${join(root, source)}' "$@"\n`;
  writeFileSync(join(folder, 'sotto'), script, { mode: 0o755 });
}

/** The same command, which also lets a relay carry plain http to the services of tests. */
const plainRelayMain = fileURLToPath(new URL('./plain-relay-sotto.ts', import.meta.url));

/** Runs `sotto` as `runSotto` does, with relays that carry plain http to the services of tests. */
export const runSottoOverPlainRelay: typeof runSotto = (args, environment, cwd) =>
  runProgram(plainRelayMain, args, environment, cwd);

/** Runs the `sotto` command from source, in its own process. `cwd` is the folder where it is typed. */
export function runSotto(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  cwd?: string,
): SottoRun {
  return runProgram(main, args, environment, cwd);
}

function runProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  cwd?: string,
): SottoRun {
  const child = spawn(process.execPath, [...fromSource, program, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) child.once('exit', dieTogether(child.pid));
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
