import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 10;

/**
 * From polite to rude, with the time each gets: rolls back and closes sessions, checkpoints and ends (SIGINT); ends
 * without the checkpoint, to be made up for at the next start (SIGQUIT); is ended.
 */
const steps = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 10_000 },
  { signal: 'SIGKILL', waitMs: 10_000 },
] as const;

/** Ends a PostgreSQL server and resolves when its process is gone, at the latest after the bounds above. */
export async function endServer(server: {
  kill(signal: NodeJS.Signals): void;
  isGone(): Promise<boolean>;
}): Promise<void> {
  for (const { signal, waitMs } of steps) {
    if (await server.isGone()) return;
    server.kill(signal);
    for (const deadline = Date.now() + waitMs; Date.now() < deadline; await sleep(POLL_MS)) {
      if (await server.isGone()) return;
    }
  }
}
