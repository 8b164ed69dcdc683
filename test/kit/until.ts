/**
 * Polls until a condition holds; otherwise throws with the condition's description. A minute is far more than a busy
 * machine needs.
 */
export async function until(
  condition: () => Promise<boolean> | boolean,
  what: string | (() => string),
  timeoutMs = 60_000,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    if (await Promise.resolve(condition()).catch(() => false)) return;
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
