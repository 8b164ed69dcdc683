import type { Readable } from 'node:stream';
import type { ClientError, ClientErrorCode } from '../errors.ts';

/** The parts of the process that commands need. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For tests, whose services have no TLS: whether a relay carries plain http. */
  readonly relaysPlainHttp?: boolean;
  /** The user id of the process; undefined on Windows. */
  readonly userId: number | undefined;
  readonly input: Readable & { readonly isTTY?: boolean };
  /** Writes the result that the user asked for: reports, answers. */
  out(text: string): void;
  /** Writes everything else: progress, errors. */
  note(text: string): void;
  /** Calls back at each request to stop (Ctrl-C, SIGTERM, the terminal closes). Returns a function that stops listening. */
  onInterrupt(listener: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void): () => void;
}

/**
 * The exit code of a command:
 *
 * - 0: success
 * - 1: the check ran and failed
 * - 2: wrong command line
 * - 3: the check could not run, because it got no answer or no evidence
 */
export type ExitCode = 0 | 1 | 2 | 3;

/** Thrown when the command line is wrong. The user sees its message, with exit code 2. */
export class UsageError extends Error {}

/** The system's code of an error, such as `ENOENT`. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

/** Removes control characters from others' text, so that it cannot steer the terminal. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
  text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '');

/** Like `printable`, on one line: others' text cannot pass for a line of this report. */
export const printableLine = (text: string): string => printable(text).replace(/\s+/g, ' ');

const withoutAnswer: readonly ClientErrorCode[] = [
  'attestation_unavailable',
  'confidential_unreachable',
  'control_unreachable',
];

/** The exit code of a command that a failure of the client ends. */
export const exitCodeOf = ({ code }: ClientError): ExitCode => (withoutAnswer.includes(code) ? 3 : 1);
