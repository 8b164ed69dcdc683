import { StartError } from '@sotto/server';

/** Both planes while they run. */
export interface RunningPlanes {
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
  readonly oneProcess: boolean;
  /** Makes control read its catalog file again. */
  reload(): void;
  /** Finishes running requests, then stops. */
  stop(): Promise<void>;
}

/** Waits until a condition holds. Throws a `StartError` with the reason if it does not hold in time. */
export async function waitUntil(condition: () => Promise<boolean>, timeoutMs: number, reason: string): Promise<void> {
  const until = Date.now() + timeoutMs;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > until) throw new StartError(reason);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
