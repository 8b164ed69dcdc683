const everyMs = 60_000;
/** More keys than a process has tasks and causes. */
const mostKeys = 1000;

type Level = 'info' | 'warn' | 'error';
type Write = (fields: object, message: string) => void;

/** Writes a line, unless one with the same message and key was written within the last minute. */
export type WriteLimited = (level: Level, key: string, fields: object, message: string) => void;

/**
 * Limits log lines that repeat. A line after lines that were held back has their number as `repeats`. `now` is a monotonic clock in ms.
 */
export function limitRepeats(
  logger: Readonly<Record<Level, Write>>,
  now: () => number = () => performance.now(),
): WriteLimited {
  const written = new Map<string, { readonly at: number; held: number }>();
  return (level, key, fields, message) => {
    const name = `${message} ${key}`;
    const last = written.get(name);
    if (last !== undefined && now() - last.at < everyMs) {
      last.held += 1;
      return;
    }
    if (written.size >= mostKeys) written.clear();
    written.set(name, { at: now(), held: 0 });
    logger[level]({ ...fields, ...(last === undefined || last.held === 0 ? {} : { repeats: last.held }) }, message);
  };
}
