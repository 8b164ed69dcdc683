import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { isatty } from 'node:tty';

/** One Ctrl-C or one `kill` of the group arrives here more than once: from the terminal and again from npm. */
const SAME_REQUEST_MS = 1000;
const PARENT_POLL_MS = 250;
const ownGroup = process.platform !== 'win32';

/** `supervise` for the project's Node, with its folder first on PATH and a lifeline. */
export function superviseNode({ root, node }, args, { capture = false } = {}) {
  const pathKey = Object.keys(process.env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  const env = {
    ...process.env,
    [pathKey]: [dirname(node), process.env[pathKey]].filter(Boolean).join(delimiter),
    SOTTO_LIFELINE_FD: '3',
  };
  const lifeline = new URL('./lifeline.mjs', import.meta.url).href;
  return supervise(node, [`--import=${lifeline}`, ...args], { cwd: root, env, capture, lifeline: true });
}

/**
 * Runs a program to its end and resolves to its exit `code` (128 + number of a signal that ended it) and, when captured,
 * its `output`; otherwise it has our streams. A request to stop reaches the program exactly once, however many times it reaches us.
 *
 * The program gets a process group of its own. In ours it would hear a Ctrl-C from the terminal, again from npm through
 * us, and a `kill` of the group twice; the app takes a second request as "at once". Alone, we are its only source.
 */
export function supervise(
  file,
  args,
  { cwd, env, capture = false, lifeline = false, wholeGroup = false, shell = false },
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
      });
    }
    // Whatever the program left running may hold the other end; 'close' must not wait for that.
    child.stdio[3]?.on('error', () => {});
    child.once('exit', () => child.stdio[3]?.destroy());

    const stopForwarding = forwardSignals((signal) => {
      if (wholeGroup && ownGroup) process.kill(-child.pid, signal);
      else child.kill(signal);
    });
    child.once('error', (error) => {
      stopForwarding();
      reject(new Error(`cannot run ${file}: ${error.message}`));
    });
    child.once('close', (code, signal) => {
      stopForwarding();
      resolve({ code: code ?? 128 + constants.signals[signal], output });
    });
  });
}

/** Passes requests to stop, and to reload (SIGHUP), to `send`. Returns the function that ends it. */
function forwardSignals(send) {
  let stopAskedAt = Number.NEGATIVE_INFINITY;
  const stop = (signal) => {
    const now = performance.now();
    if (now - stopAskedAt < SAME_REQUEST_MS) return;
    stopAskedAt = now;
    send(signal);
  };
  // SIGHUP is also what a closed terminal sends, and a program without a terminal to be stopped from should not go on.
  const onTerminal = (isatty(0) || isatty(1)) && hasTerminal();
  const handlers = {
    // On Windows the console gives Ctrl-C to the program itself, and a forwarded signal would end it on the spot.
    SIGINT: ownGroup ? stop : () => {},
    SIGTERM: stop,
    SIGHUP: (signal) => (onTerminal && !hasTerminal() ? stop('SIGTERM') : send(signal)),
  };
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);

  // A package manager that dies without a word to us (SIGKILL; pnpm on SIGTERM) would leave the program running.
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
