import { type Logger, pino } from 'pino';

const flushMs = 250;

/** A log on stdout that is written in batches: a system call a request would cost as much as the request's routing. */
export function openLog(level: string): Logger {
  const destination = pino.destination({ fd: 1, sync: false, minLength: 8192 });
  const flush = (): void => {
    destination.flush(() => {});
  };
  setInterval(flush, flushMs).unref();
  process.on('exit', () => {
    try {
      destination.flushSync();
    } catch {
      // Not open yet, or closed by the reader: there is nobody left to tell.
    }
  });
  return pino({ level, base: { process: 'confidential' } }, destination);
}
