/** What a command may touch of its process. */
export interface CliProcess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** All of the standard input. */
  readonly readInput: () => Promise<string>;
  readonly out: (line: string) => void;
  readonly error: (line: string) => void;
}

/** A command that cannot go on: one line for the person who called it. */
export class CliError extends Error {}

/** A command that was called wrongly. */
export class UsageError extends CliError {}
