import { openLogOutlet } from '@sotto/http';
import { type Logger, pino } from 'pino';

/** The broker's log, on stdout. */
export function openLog(level: string): Logger {
  const outlet = openLogOutlet();
  process.on('exit', () => outlet.end());
  return pino({ level, base: { process: 'confidential' } }, outlet);
}
