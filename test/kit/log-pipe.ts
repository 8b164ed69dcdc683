import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A pipe for the output of a process. Its reader can be told to stop reading. */
export interface LogPipe {
  /** The write end, for `spawn`. */
  readonly fd: number;
  /** Returns the latest output, at most about a megabyte. */
  text(): string;
  /** Stops reading and fills the pipe completely. */
  stall(): Promise<void>;
  readOn(): void;
  stop(): Promise<void>;
}

const filler = Buffer.alloc(4096, '\n');
const keptChars = 1 << 20;

export async function openLogPipe(): Promise<LogPipe> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-log-'));
  const path = join(folder, 'log');
  await promisify(execFile)('mkfifo', [path]);
  // Opens both ends at once, because opening one end alone would wait for the other.
  const reading = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const filling = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY);
  const reader = new Socket({ fd: reading, readable: true, writable: false });
  let kept = '';
  reader.on('data', (piece) => {
    kept = (kept + piece.toString('utf8')).slice(-keptChars);
  });
  reader.on('error', () => {});
  const fill = (): void => {
    for (;;) {
      try {
        writeSync(filling, filler);
      } catch {
        return;
      }
    }
  };
  return {
    fd,
    text: () => kept,
    async stall() {
      reader.pause();
      fill();
      // A read that had already started can free some room, so the pipe is filled again.
      for (let rounds = 0; rounds < 10; rounds += 1) {
        await sleep(10);
        fill();
      }
    },
    readOn() {
      reader.resume();
    },
    async stop() {
      reader.destroy();
      for (const open of [filling, fd]) closeSync(open);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
