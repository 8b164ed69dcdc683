/** What a command may touch of its process. */
export interface CliProcess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (line: string) => void;
  readonly error: (line: string) => void;
}

/** A command that cannot go on: one line for the person who called it. */
export class CliError extends Error {}
