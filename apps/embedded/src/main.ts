import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keepMemoryOutOfDumps } from '@sotto/control';
import { exitMessage, loadSettings, returnMemoryWhenQuiet, StartError } from '@sotto/server';
import { readConfig } from './config.ts';
import { startEverything } from './start.ts';

const projectDir = fileURLToPath(new URL('../../../', import.meta.url));

const stops: (() => Promise<void>)[] = [];
let ending: Promise<void> | undefined;
let isRunning = false;

/** Stops everything in reverse order of start. A second request does not wait. */
function end(code: number): void {
  if (ending !== undefined) process.exit(130);
  if (isRunning)
    process.stdout.write(
      'Stopping. Running requests get some seconds to finish. Press Ctrl-C again to stop at once.\n',
    );
  ending = (async () => {
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop().catch(() => {});
  })();
  void ending.then(() => process.exit(code));
}

returnMemoryWhenQuiet();
keepMemoryOutOfDumps();
// Node itself would print the whole error, including content that it quotes.
process.on('uncaughtException', (error) => {
  process.stderr.write(exitMessage('sotto', error));
  process.exit(1);
});
// Registered before anything starts, so that an early Ctrl-C leaves nothing behind.
process.on('SIGINT', () => end(0));
process.on('SIGTERM', () => end(0));
// It reloads the catalog once everything runs. Before that, Node would end this process and leave Postgres and the planes.
process.on('SIGHUP', () => {});
// Closing the terminal closes stdout, which must not end the process before it has drained.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const ownFile = join(projectDir, 'sotto.yaml');
const given = loadSettings({
  plane: 'start',
  environment: { ...process.env, CONFIG_FILE: process.env.CONFIG_FILE || (existsSync(ownFile) ? ownFile : undefined) },
});
if (given.ok) for (const warning of given.warnings) process.stderr.write(`sotto: warning: ${warning}\n`);
// Provider keys are read from process.env once the registry has named them.
if (given.ok)
  for (const [name, value] of Object.entries(given.settings)) if (value !== undefined) process.env[name] = value;
const read = given.ok ? readConfig(given.settings, projectDir) : given;
if (!read.ok) {
  process.stderr.write(`sotto: ${read.message}\n`);
  process.exit(1);
}
try {
  // A shutdown that has begun takes these, too: it goes on until the list is empty.
  const banner = await startEverything(read.settings, (stop) => stops.push(stop));
  if (ending === undefined) {
    isRunning = true;
    process.stdout.write(`${banner}\n`);
  }
} catch (error) {
  if (ending === undefined) {
    const message =
      error instanceof StartError
        ? error.message
        : `unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : 'error'}`;
    process.stderr.write(`sotto: ${message}\n`);
    end(1);
  }
}
