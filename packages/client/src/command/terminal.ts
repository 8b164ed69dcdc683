import type { Readable } from 'node:stream';

/** The process that a command runs in, as far as commands need it. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of the user that the process runs as; undefined on Windows. */
  readonly userId: number | undefined;
  readonly input: Readable & { readonly isTTY?: boolean };
  /** What was asked for: reports, answers. */
  out(text: string): void;
  /** What is said beside it: progress, errors. */
  note(text: string): void;
  /** Calls back at each request to stop (Ctrl-C, SIGTERM); returns how to stop listening. */
  onInterrupt(listener: () => void): () => void;
}

/**
 * What a command ends with. 0: as asked. 1: looked, and it is not as demanded. 2: the call itself is wrong.
 * 3: could not look: nothing answered, or no evidence was to be had.
 */
export type ExitCode = 0 | 1 | 2 | 3;

/** A call that is wrong: its message goes to the user, with exit code 2. */
export class UsageError extends Error {}

/** What others wrote, without what would steer the terminal. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '');

/** The same on one line: what others wrote cannot pass for a line of ours. */
export const printableLine = (text: string): string => printable(text).replace(/\s+/g, ' ');
