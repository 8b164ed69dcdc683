import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { isatty } from 'node:tty';
import { pathBeforeNpm } from './path-before-npm.mjs';

/** Signals within this time are one request: a Ctrl-C arrives from the terminal and again from npm. */
const SAME_REQUEST_MS = 1000;
const PARENT_POLL_MS = 250;
const ownGroup = process.platform !== 'win32';

/** A flag for programs that users start. Their modules stay compiled between starts. */
const compiled = `--import=${new URL('./compile-cache.mjs', import.meta.url).href}`;

/** Calls `supervise` with the project's Node, puts its folder first on PATH, and adds a lifeline. */
export function superviseNode({ root, node }, args, { capture = false, cwd = root } = {}) {
  const pathKey = Object.keys(process.env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  const env = {
    ...process.env,
    [pathKey]: [dirname(node), process.env[pathKey]].filter(Boolean).join(delimiter),
    SOTTO_LIFELINE_FD: '3',
  };
  const lifeline = new URL('./lifeline.mjs', import.meta.url).href;
  return supervise(node, [`--import=${lifeline}`, compiled, ...args], { cwd, env, capture, lifeline: true });
}

/** The folder where the user typed the command. npm itself changes to the project's. */
export const typedIn = () => process.env.INIT_CWD ?? process.cwd();

/** The environment in which the user typed the command. npm puts its own variables into it, and its folder into PWD. */
function userEnvironment(root, cwd) {
  const ours = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return { ...Object.fromEntries(ours), PATH: pathBeforeNpm(root, process.env.PATH ?? ''), PWD: cwd };
}

/**
 * Runs a program in the foreground of this terminal, in the folder where the user typed the command. The terminal itself gives
 * the program Ctrl-C and changes of size. Resolves to its exit `code`.
 */
export function inForeground({ root, node }, args) {
  return new Promise((resolve, reject) => {
    const cwd = typedIn();
    const child = spawn(node, [compiled, ...args], { cwd, env: userEnvironment(root, cwd), stdio: 'inherit' });
    const pass = (signal) => child.kill(signal);
    // The terminal gives Ctrl-C to all processes in its foreground. A program that gets it twice may end.
    const onInterrupt = (signal) => (isInForeground() ? undefined : pass(signal));
    process.on('SIGINT', onInterrupt).on('SIGTERM', pass).on('SIGHUP', pass);
    child.once('error', (error) => reject(new Error(`cannot run ${node}: ${error.message}`)));
    child.once('close', (code, signal) => {
      process.off('SIGINT', onInterrupt).off('SIGTERM', pass).off('SIGHUP', pass);
      resolve({ code: code ?? 128 + constants.signals[signal] });
    });
  });
}

/** Whether this process belongs to the processes that its terminal gives Ctrl-C to. Only Linux tells; elsewhere, any terminal counts. */
function isInForeground() {
  try {
    // After the name in parentheses: state, parent, group, session, terminal, and the group in the foreground.
    const [, , group, , , foreground] = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
    return group === foreground;
  } catch {
    return isatty(0) || isatty(1);
  }
}

/**
 * Runs a program to its end. Resolves to its exit `code` (128 + the signal number if a signal ended it) and, with
 * `capture`, to its `output`, whose pieces also go to `onOutput`. Without `capture` the program uses our streams. `isStopped` tells whether we passed a signal on.
 *
 * Each request to stop reaches the program exactly once. So the program gets its own process group: in ours, one Ctrl-C
 * would arrive from the terminal and again from npm, and the app treats a second request as "stop at once".
 */
export function supervise(
  file,
  args,
  { cwd, env, capture = false, onOutput = () => {}, lifeline = false, wholeGroup = false, shell = false },
) {
  return new Promise((resolve, reject) => {
    const stream = capture ? 'pipe' : 'inherit';
    const child = spawn(file, args, {
      cwd,
      env,
      shell,
      detached: ownGroup,
      stdio: [capture ? 'ignore' : 'inherit', stream, stream, ...(lifeline ? ['pipe'] : [])],
    });
    let output = '';
    for (const pipe of capture ? [child.stdout, child.stderr] : []) {
      pipe.setEncoding('utf8').on('data', (text) => {
        output += text;
        onOutput(text);
      });
    }
    // A process that the program left running may hold the other end. 'close' must not wait for it.
    child.stdio[3]?.on('error', () => {});
    child.once('exit', () => child.stdio[3]?.destroy());

    let isStopped = false;
    const stopForwarding = forwardSignals((signal) => {
      isStopped = true;
      if (wholeGroup && ownGroup) process.kill(-child.pid, signal);
      else child.kill(signal);
    });
    child.once('error', (error) => {
      stopForwarding();
      reject(new Error(`cannot run ${file}: ${error.message}`));
    });
    child.once('close', (code, signal) => {
      stopForwarding();
      resolve({ code: code ?? 128 + constants.signals[signal], output, isStopped });
    });
  });
}

/** Passes requests to stop, and to reload (SIGHUP), to `send`. Returns a function that stops forwarding. */
function forwardSignals(send) {
  let stopAskedAt = Number.NEGATIVE_INFINITY;
  const stop = (signal) => {
    const now = performance.now();
    if (now - stopAskedAt < SAME_REQUEST_MS) return;
    stopAskedAt = now;
    send(signal);
  };
  // A closed terminal also sends SIGHUP. A program that lost its terminal must stop, because Ctrl-C no longer reaches it.
  const onTerminal = (isatty(0) || isatty(1)) && hasTerminal();
  const handlers = {
    // On Windows the console sends Ctrl-C to the program itself, and a forwarded signal would end it at once.
    SIGINT: ownGroup ? stop : () => {},
    SIGTERM: stop,
    SIGHUP: (signal) => (onTerminal && !hasTerminal() ? stop('SIGTERM') : send(signal)),
  };
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);

  // A package manager that dies silently (by SIGKILL, or pnpm by SIGTERM) would leave the program running.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    if (stopAskedAt === Number.NEGATIVE_INFINITY) stop('SIGTERM');
  }, PARENT_POLL_MS);
  if (process.env.npm_lifecycle_event === undefined) clearInterval(watch);

  return () => {
    clearInterval(watch);
    for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler);
  };
}

function hasTerminal() {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
