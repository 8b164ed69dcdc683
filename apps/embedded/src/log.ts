import type { Writable } from 'node:stream';
import { openLogOutlet } from '@sotto/server';
import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/** Format of the log: text for people, or one JSON object per line for programs. */
export type LogFormat = 'text' | 'json';

/** Returns a stream that formats lines of JSON for people, such as `14:03:11 WARN: message`, and writes them to stdout. */
export const prettyOut = (): Writable =>
  pretty({
    colorize: process.stdout.isTTY,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname,process',
    singleLine: true,
    sync: true,
  });

/** Opens the log of this process. A terminal that is closed, or a full disk, must not end it while it drains. */
export function openLog(format: LogFormat, level: string): Logger {
  if (format === 'text') return pino({ level }, prettyOut());
  const outlet = openLogOutlet();
  process.on('exit', () => outlet.end());
  return pino({ level }, outlet);
}
