import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { keepMemoryOutOfDumps } from '@sotto/control';
import { exitMessage } from '@sotto/http';
import { withSecretFiles } from '@sotto/settings';
import { readConfig } from './config.ts';
import { StartError } from './service.ts';
import { startEverything } from './start.ts';

const projectDir = fileURLToPath(new URL('../../../', import.meta.url));

const stops: (() => Promise<void>)[] = [];
let ending: Promise<void> | undefined;
let isRunning = false;

/** Stops what was started, last first. A second request does not wait. */
function end(code: number): void {
  if (ending !== undefined) process.exit(130);
  if (isRunning) process.stdout.write('Ending: what still runs may take some seconds. Ctrl-C again ends at once.\n');
  ending = (async () => {
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop().catch(() => {});
  })();
  void ending.then(() => process.exit(code));
}

keepMemoryOutOfDumps();
// Node itself would print the error as it is, and whatever it quotes.
process.on('uncaughtException', (error) => {
  process.stderr.write(exitMessage('sotto', error));
  process.exit(1);
});
// Before anything is started, so that an early Ctrl-C leaves nothing behind.
process.on('SIGINT', () => end(0));
process.on('SIGTERM', () => end(0));
// A terminal that is closed takes stdout with it; that must not end us before we have drained.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const given = withSecretFiles(process.env, (path) => readFileSync(path, 'utf8'));
// Keys of providers are looked up there when their names are known.
if (given.ok) Object.assign(process.env, given.settings);
const read = given.ok ? readConfig(given.settings, projectDir) : given;
if (!read.ok) {
  process.stderr.write(`sotto: ${read.message}\n`);
  process.exit(1);
}
try {
  const { banner } = await startEverything(read.config, (stop) => {
    stops.push(stop);
    // Something came up after the end was asked for: it goes down again at once.
    if (ending !== undefined) void stop();
  });
  if (ending === undefined) {
    isRunning = true;
    process.stdout.write(`${banner}\n`);
  }
} catch (error) {
  if (ending === undefined) {
    const message =
      error instanceof StartError
        ? error.message
        : `unexpected: ${error instanceof Error ? (error.stack ?? error.message) : 'error'}`;
    process.stderr.write(`sotto: ${message}\n`);
    end(1);
  }
}
