import { StartError } from './start-error.ts';

/**
 * Explains why a server could not listen, in one line that names the setting to change and its value. The setting is
 * `HOST`, or the variable `port`. Returns undefined for other errors.
 */
export function listenProblem(error: unknown, port: string): string | undefined {
  const { code, port: number, address, hostname }: Partial<ListenError> = error instanceof Error ? error : {};
  switch (code) {
    case 'EADDRINUSE':
      return `${port} is \`${number}\`: another process listens there; choose a free one`;
    case 'EACCES':
      return `${port} is \`${number}\`: this process may not listen there; choose one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST is \`${address ?? hostname}\`: this machine has no such address; it takes one that it has, or 0.0.0.0 for all`;
    default:
      return undefined;
  }
}

/** Returns the error to throw when a server could not listen: a `StartError` if a setting explains it. */
export function listenError(error: unknown, port: string): unknown {
  const problem = listenProblem(error, port);
  return problem === undefined ? error : new StartError(problem);
}

interface ListenError extends Error {
  readonly code: string;
  readonly port: number;
  readonly address: string;
  /** Set if a host name does not resolve. */
  readonly hostname: string;
}
