/**
 * Why a server could not listen, in one line that names the setting to change: `HOST`, or the variable `port`. Undefined
 * for an error of another kind.
 */
export function listenProblem(error: unknown, port: string): string | undefined {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return `${port} is taken by another process: choose a free one`;
    case 'EACCES':
      return `${port} is one that this process may not listen on: choose one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'HOST is no address of this machine: it takes one that it has, or 0.0.0.0 for all';
    default:
      return undefined;
  }
}
