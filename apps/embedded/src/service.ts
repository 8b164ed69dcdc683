/** Both planes, running. */
export interface RunningPlanes {
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
  readonly oneProcess: boolean;
  /** Lets what runs come to its end and stops. */
  stop(): Promise<void>;
}

/** A start that cannot go on: one line for the person who called it. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
  }
}

/** Waits until a condition holds; throws a `StartError` with the reason where it does not within the time. */
export async function waitUntil(condition: () => Promise<boolean>, timeoutMs: number, reason: string): Promise<void> {
  const until = Date.now() + timeoutMs;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > until) throw new StartError(reason);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
