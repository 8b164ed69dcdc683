/**
 * Polls until a condition holds; otherwise throws with the condition's description. A minute is far more than a busy
 * machine needs. A condition that rejects does not hold yet; the last rejection is the cause of the error.
 */
export async function until(
  condition: () => Promise<boolean> | boolean,
  what: string | (() => string),
  timeoutMs = 60_000,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    let cause: unknown;
    const holds = await Promise.resolve(condition()).catch((error: unknown) => {
      cause = error;
      return false;
    });
    if (holds) return;
    if (Date.now() > end) {
      throw new Error(`not within ${timeoutMs} ms: ${typeof what === 'string' ? what : what()}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
