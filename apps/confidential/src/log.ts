import { type Logger, pino } from 'pino';

const flushMs = 250;
const batchCharacters = 32 * 1024;

/**
 * A log on stdout that is written in batches: a system call a request would cost as much as the request's routing. The
 * lines of a batch are joined here, at its end: pino's own destination measures all it has kept with each line.
 */
export function openLog(level: string): Logger {
  const destination = pino.destination({ fd: 1, sync: false, maxWrite: 2 * batchCharacters });
  let lines: string[] = [];
  let characters = 0;
  const flush = (): void => {
    if (lines.length === 0) return;
    destination.write(lines.join(''));
    lines = [];
    characters = 0;
  };
  setInterval(flush, flushMs).unref();
  process.on('exit', () => {
    try {
      flush();
      destination.flushSync();
    } catch {
      // Not open yet, or closed by the reader: there is nobody left to tell.
    }
  });
  const write = (line: string): void => {
    lines.push(line);
    characters += line.length;
    if (characters >= batchCharacters) flush();
  };
  return pino({ level, base: { process: 'confidential' } }, { write });
}
