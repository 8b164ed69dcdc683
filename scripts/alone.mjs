import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;

/** Runs a step that writes into the project, such as an installation. Two commands at the same time run theirs one after the other. */
export async function alone(root, step) {
  const lock = join(root, '.preparing');
  for (let isTold = false; !take(lock); isTold = true) {
    if (!isTold) console.error(`Waiting for another command to finish here. If there is none, delete ${lock}`);
    await sleep(POLL_MS);
  }
  const free = () => rmSync(lock, { force: true });
  process.once('exit', free);
  try {
    return await step();
  } finally {
    process.off('exit', free);
    free();
  }
}

/** Takes the lock. Returns false if another process has it. Removes that of a process that was killed. */
function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (!isRunning(ownerOf(lock))) rmSync(lock, { force: true });
    return false;
  }
}

/** The process that has the lock. 0 if it has just released it, or has not written its id yet. */
function ownerOf(lock) {
  try {
    return Number(readFileSync(lock, 'utf8'));
  } catch {
    return 0;
  }
}

function isRunning(pid) {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
