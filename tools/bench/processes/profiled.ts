import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

/**
 * Node loads this before the program (`--import`). A SIGUSR2 begins a profile of the CPU. The next one ends it, and writes it to the
 * file that `?to=` names.
 */
const file = new URL(import.meta.url).searchParams.get('to') ?? '';
const session = new Session();
session.connect();
let isRunning = false;
process.on('SIGUSR2', async () => {
  if (isRunning) {
    isRunning = false;
    const { profile } = await session.post('Profiler.stop');
    writeFileSync(`${file}.part`, JSON.stringify(profile));
    renameSync(`${file}.part`, file);
  } else {
    isRunning = true;
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: 200 });
    await session.post('Profiler.start');
    writeFileSync(`${file}.begun`, '');
  }
});
