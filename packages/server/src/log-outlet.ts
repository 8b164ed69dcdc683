import { fstatSync, write as writeFile, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** A log destination for pino. */
export interface LogOutlet {
  write(line: string): void;
  /** At the end of the process: writes as much as possible without waiting for the reader. */
  end(): void;
}

/**
 * One system call per line would cost as much as the routing of its request. So lines within this time are written
 * together.
 */
const batchMs = 20;
const batchChars = 32 * 1024;
/** Characters held while the reader takes none. Further lines are lost, and counted. */
const heldChars = 1 << 20;

/**
 * A log on a file descriptor that never blocks or ends the process, even if the reader stops or the disk is full. Lines
 * are then lost, and the next one that gets through says how many.
 */
export function openLogOutlet(fd = 1, now: () => number = Date.now): LogOutlet {
  const put = openWriter(fd);
  let held: string[] = [];
  let chars = 0;
  let lost = 0;
  let writing = false;
  let isDue = false;
  const take = (): string => {
    const note = `{"level":40,"time":${now()},"lines":${lost},"msg":"log lines were lost"}\n`;
    const text = (lost > 0 ? note : '') + held.join('');
    held = [];
    chars = 0;
    return text;
  };
  const soon = (): void => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      send();
    }, batchMs).unref();
  };
  const send = (): void => {
    if (writing || held.length === 0) return;
    const lines = held.length + lost;
    const bytes = Buffer.from(take());
    lost = 0;
    writing = true;
    put(bytes, (failed) => {
      writing = false;
      if (failed) lost += lines;
      if (held.length > 0) soon();
    });
  };
  return {
    write(line) {
      if (chars + line.length > heldChars) {
        lost += 1;
        return;
      }
      held.push(line);
      chars += line.length;
      if (chars >= batchChars) send();
      else soon();
    },
    end() {
      if (held.length === 0) return;
      try {
        writeSync(fd, take());
      } catch {
        // The write failed, and the process has no other place to report it.
      }
    },
  };
}

type Write = (bytes: Buffer, done: (failed: boolean) => void) => void;

/**
 * Opens a descriptor for writes. It writes to a pipe without blocking, because a thread that waits for the reader would
 * keep the process from ending.
 */
function openWriter(fd: number): Write {
  const kind = fstatSync(fd);
  if (kind.isFIFO() || kind.isSocket()) {
    const socket = new Socket({ fd, readable: false, writable: true });
    socket.on('error', () => {});
    socket.unref();
    return (bytes, done) => void socket.write(bytes, (error) => done(error != null));
  }
  const write: Write = (bytes, done) =>
    writeFile(fd, bytes, (error, written) => {
      if (error !== null) done(true);
      else if (written < bytes.length) write(bytes.subarray(written), done);
      else done(false);
    });
  return write;
}
